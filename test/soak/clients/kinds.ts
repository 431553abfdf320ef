/**
 * What clients do, by kind: each has latencies of its own, and a soak in which one never happened shows nothing of it
 * (verdicts.ts).
 */
export const KINDS = [
  // people (people.ts)
  'authorize',
  'sign-in',
  'refresh',
  'GET /me',
  'GET /devices',
  'rename',
  'sign-out',
  // those who come once (newcomers.ts)
  'first sign-in',
  'device forgotten',
  'user removed',
  // the other ways to sign in (stock-clients.ts, open-id-people.ts, sample-people.ts)
  'stock client: authorize',
  'stock client: callback',
  'stock client: token',
  'stock client: revoke',
  'sign-in by OpenID Connect',
  'back-channel logout',
  'refresh after the logout',
  'sample provider: page',
  'sample provider: password',
  'sign-in by the sample provider',
  // the application's backend (backend.ts)
  'push',
  'push with a key',
  'push with a new key',
  'introspect',
  // strangers (strangers.ts, beyond.ts)
  'refused',
  'refused handshake',
  'beyond authorize',
  'beyond token',
  'beyond refresh',
  'beyond bad_token',
  'beyond connect',
  'beyond write',
  'beyond password',
  // sockets (sitters.ts)
  'connect',
] as const;

export type Kind = (typeof KINDS)[number];

/** What is only counted (`Tally.count`), and happens in every soak that is longer than the lives of its tokens. */
export const COUNTED = [
  'events received',
  'renewals',
  'session.ended: expired',
  'session.ended: signed_out',
  'ended sessions told',
] as const;
