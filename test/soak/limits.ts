/** The limits of the service (contract §2, `RATE_LIMIT_…`; docs/security.md, the sample provider) that somebody goes beyond. */
export const LIMITS = ['authorize', 'token', 'refresh', 'bad_token', 'connect', 'write', 'password'] as const;

export type Limit = (typeof LIMITS)[number];

/** Failed passwords for a login from one network, on each instance (sample-provider/failed-passwords.ts); no setting. */
const PASSWORDS = 10;

/** How many are let through in a minute. */
export interface Allowed {
  readonly aMinute: number;
  /** How many of the two instances count for themselves. */
  readonly counters: number;
}

/**
 * What may be let through, by limit.
 * @param aMinute the settings' limit, the same for each
 * @param hasRedis whether the instances count together
 */
export function allowedOf(aMinute: number, hasRedis: boolean): Readonly<Record<Limit, Allowed>> {
  const set = { aMinute, counters: hasRedis ? 1 : 2 };
  return {
    authorize: set,
    token: set,
    refresh: set,
    bad_token: set,
    connect: set,
    write: set,
    password: { aMinute: PASSWORDS, counters: 2 },
  };
}

/** The settings of all but the last. */
export function limitVariables(aMinute: number): Record<string, string> {
  const names = LIMITS.filter((limit) => limit !== 'password');
  return Object.fromEntries(names.map((name) => [`RATE_LIMIT_${name.toUpperCase()}`, String(aMinute)]));
}
