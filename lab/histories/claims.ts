import { LatchkeyError, requireRole, type UserClaims } from '../../packages/server/src/index.js';
import type { ClaimsNumber } from './operation.js';

type Claims = Readonly<Record<string, unknown>>;

const onlyAdmins = requireRole('admin');

/** Claims of the change `n`: lists and other names, not the same names each time. */
export function claimsWith(n: number): Claims {
  const roles = [`role-${n}`, ...(n % 2 === 0 ? ['admin'] : [])];
  return n === 0 ? {} : { roles, n, plan: `plan-${n}`, ...(n % 3 === 0 && { seats: n }) };
}

/** @param carried claims as a token, an answer or an event has them: roles at the top, the others in `claims` */
export function numberOf({ roles, claims }: Claims): ClaimsNumber {
  const flat = { ...(roles ? { roles } : {}), ...(claims as object) } as Claims;
  const { n = 0 } = flat as { n?: number };
  return sorted(flat) === sorted(claimsWith(n)) ? n : -1;
}

/** Number of claims that `verify()` has returned, if `requireRole('admin')` agrees with them. */
export function verifiedNumberOf(claims: UserClaims): ClaimsNumber {
  const n = numberOf(claims as Claims);
  return isAdmin(claims) === (n !== 0 && n % 2 === 0) ? n : -1;
}

function isAdmin(claims: UserClaims): boolean {
  try {
    onlyAdmins(claims);
    return true;
  } catch (error) {
    if (error instanceof LatchkeyError) return false;
    throw error;
  }
}

const sorted = (claims: Claims): string =>
  JSON.stringify(Object.entries(claims).toSorted(([a], [b]) => (a < b ? -1 : 1)));
