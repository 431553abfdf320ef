import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Device, Session } from '../api/types.js';

/** Addresses that are offered. */
const MOST = 5;

/**
 * Ways to refusals that a user's own events lack: a sign-in that fails before the provider has named the user has an address only.
 * @param uses newest first
 */
export function EarlierRefusals({ uses }: { uses: readonly (Device | Session)[] }): ReactNode {
  const addresses = new Set(uses.flatMap(({ address }) => address ?? []));
  return (
    <p className="hint refusals">
      A sign-in that fails before the user is known is not in this list. Refused sign-ins of anyone:{' '}
      {[...addresses].slice(0, MOST).map((address) => (
        <Link key={address} href={refusals({ address })}>
          {address}
        </Link>
      ))}
      <Link href={refusals({})}>from all addresses</Link>
    </p>
  );
}

/** @param filter of the audit trail, as its view has it in the address */
export function refusals(filter: Record<string, string>): string {
  return `/audit?${new URLSearchParams({ event: 'sign_in_refused', ...filter })}`;
}
