import { useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { Hour } from '../api/types.js';
import { trailOf } from '../audit/filter-names.js';
import { formatNumber } from '../parts/locale.js';
import { hourText, withinHour } from './hour-text.js';

interface HourLinksProps {
  readonly hours: readonly Hour[];
  readonly placeOf: (index: number) => { x: number; width: number };
  readonly top: number;
  /** Where the bar of the sign-ins ends, and that of the refusals begins. */
  readonly middleOf: (hour: Hour) => number;
  readonly bottom: number;
  readonly point: (index: number) => void;
}

interface BarLink {
  readonly index: number;
  readonly hour: string;
  readonly event: 'sign_in' | 'sign_in_refused';
  readonly count: number;
  readonly top: number;
  readonly bottom: number;
}

/**
 * Links over the bars: from the top to the sign-ins for the refusals, below for the sign-ins; so the smallest number can be hit,
 * too. Together they are one stop of the tab key; arrow keys go from link to link.
 */
export function HourLinks({ hours, placeOf, top, middleOf, bottom, point }: HourLinksProps): ReactNode {
  const group = useRef<SVGGElement>(null);
  const links = hours.flatMap((hour, index) => linksOf(hour, index, { top, middle: middleOf(hour), bottom }));
  const [chosen, setChosen] = useState(Infinity);
  const stop = Math.min(chosen, links.length - 1);

  const go = (event: KeyboardEvent): void => {
    const next = { ArrowLeft: stop - 1, ArrowRight: stop + 1, Home: 0, End: links.length - 1 }[event.key];
    if (next === undefined || !links[next]) return;
    event.preventDefault();
    group.current!.querySelectorAll('a')[next]!.focus();
  };
  return (
    <g ref={group} className="hour-links" onKeyDown={go}>
      {links.map(({ index, hour, event, count, ...ends }, place) => (
        <Link
          key={`${event} ${hour}`}
          href={trailOf({ event, ...withinHour(hour) })}
          aria-label={`${hourText(hour)}: ${formatNumber(count)} ${event === 'sign_in' ? 'sign-ins' : 'refused'}`}
          tabIndex={place === stop ? 0 : -1}
          onFocus={() => {
            setChosen(place);
            point(index);
          }}
        >
          <rect {...placeOf(index)} y={ends.top} height={Math.max(0, ends.bottom - ends.top)} />
        </Link>
      ))}
    </g>
  );
}

function linksOf(
  { hour, sign_ins, refusals }: Hour,
  index: number,
  { top, middle, bottom }: Record<'top' | 'middle' | 'bottom', number>,
): BarLink[] {
  const [some, refused] = [sign_ins ?? 0, refusals ?? 0];
  const links: BarLink[] = [];
  const signIns = {
    index,
    hour,
    event: 'sign_in',
    count: some,
    top: refused ? middle : top,
    bottom,
  } as const;
  if (some > 0) links.push(signIns);
  const others = { index, hour, event: 'sign_in_refused', count: refused, top } as const;
  if (refused > 0) links.push({ ...others, bottom: some ? middle : bottom });
  return links;
}
