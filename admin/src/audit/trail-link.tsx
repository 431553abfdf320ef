import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { CHIPS, trailOf } from './filter-names.js';

/** A value of an event that filters the trail by it. */
export function TrailLink({ filter, value }: { filter: keyof typeof CHIPS; value: string }): ReactNode {
  return (
    <Link href={trailOf({ [filter]: value })}>
      <span className="visually-hidden">Events with the {CHIPS[filter].toLowerCase()} </span>
      <code>{value}</code>
    </Link>
  );
}
