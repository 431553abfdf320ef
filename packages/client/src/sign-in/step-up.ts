import type { LatchkeyError } from '../latchkey-error.js';
import type { StepUpOptions } from '../options.js';
import type { Refresher } from '../tokens/refresher.js';
import type { TokenKeeper, Tokens } from '../tokens/tokens.js';
import type { Report } from './callback.js';
import type { SignIn } from './sign-in.js';

// After a 401 of an API: another token, or a new sign-in (RFC 9470). This file imports nothing: shared code
// would become a third file.

/** Seconds. A younger token is not replaced after a 401: the API may be rejecting every token. */
const YOUNG = 60;
/** Milliseconds until other tabs see the new session in the storage, with a margin. */
const VISIBLE = 500;

/** Step-ups in progress, by the client's tokens. */
const running = new WeakMap<TokenKeeper, { readonly what: string; readonly done: Promise<void> }>();

/** What the main file passes. */
type Client = readonly [keeper: TokenKeeper, refresher: Refresher, start: SignIn['start'], canAsk: boolean];

/**
 * Replaces the access token: of a request that got a 401, or by a new sign-in if the session does not meet the options.
 * @param used token of the request
 * @throws if no other token can help; a LatchkeyError `signed_out`, `cancelled`, `other_user`, or what the dialog showed
 */
export async function renew(
  client: Client,
  wanted: Response | StepUpOptions,
  used?: string,
): Promise<unknown> {
  if (!(wanted instanceof Response)) return stepUp(client, wanted);
  const [keeper, { refresh }, , canAsk] = client;
  const challenge = wanted.headers.get('WWW-Authenticate') ?? '';
  if (/\binsufficient_user_authentication\b/.test(challenge)) {
    if (!canAsk) throw new Error('the application asks');
    return stepUp(client, readChallenge(challenge), used);
  }
  // A token may be withdrawn early, with the key that signed it. An older one may have been replaced by
  // another request or tab: then the new one is tried.
  if (keeper.get()?.access_token === used && keeper.age() < YOUNG) throw new Error('the token is new');
  return refresh(used);
}

/**
 * Lets the user of the session sign in again, unless the session meets the requirements. Concurrent calls for the same share a dialog;
 * other calls wait for their turn.
 * @param used token that did not suffice. Without it, the call comes from a click, and the provider's page is opened at once
 */
async function stepUp(
  [keeper, { fresh }, start]: Client,
  needed: StepUpOptions,
  used?: string,
): Promise<void> {
  const what = JSON.stringify([needed.maxAge, needed.acrValues]);
  let other;
  while ((other = running.get(keeper)) && other.what !== what) await other.done.catch(() => undefined);
  if (other) return other.done;
  const work = async (): Promise<void> => {
    const token = await fresh();
    // Another request or tab may have replaced the session.
    if (token !== used && meets(token, keeper.age(), needed)) return;
    const { user_id: user, provider } = keeper.get()!;
    await start({ ...needed, provider, user }, !!used);
  };
  const done = work().finally(() => running.delete(keeper));
  running.set(keeper, { what, done });
  return done;
}

/**
 * Prepares the replacement of a session, which then ends at the service.
 * @returns what the new session takes over
 * @throws LatchkeyError `other_user`: the tokens are of another user, and revoked
 */
export function replace(
  Failure: typeof LatchkeyError,
  report: Report,
  user: string,
  { user_id, refresh_token }: Tokens,
  before: Tokens | undefined,
): Partial<Tokens> {
  const revoke = (token: string, reason: string): void => report('/oauth2/revoke', { token, reason });
  if (user_id !== user) {
    revoke(refresh_token, 'user');
    throw new Failure('other_user', 'Another user has signed in.');
  }
  if (before?.user_id !== user) return {};
  setTimeout(() => revoke(before.refresh_token, 'replaced'), VISIBLE);
  return { profile: before.profile };
}

/** Reads the parameters of a challenge (RFC 9470 §3). Without any, the user has to authenticate now. */
function readChallenge(challenge: string): StepUpOptions {
  const [, maxAge] = /\bmax_age="?(\d{1,9})\b/.exec(challenge) ?? [];
  const [, acrValues] = /\bacr_values="([^"]+)"/.exec(challenge) ?? [];
  if (!maxAge && !acrValues) return { maxAge: 0 };
  return { ...(maxAge && { maxAge: +maxAge }), ...(acrValues && { acrValues }) };
}

/** @param age of the token, in seconds */
function meets(token: string, age: number, { maxAge, acrValues }: StepUpOptions): boolean {
  const { iat, auth_time, acr } = readToken(token);
  const isRecent = maxAge == null || iat! + age - auth_time! <= maxAge; // false if one is unknown
  return isRecent && (!acrValues || acrValues.split(' ').includes(acr!));
}

/** Reads an access token; nothing from an unreadable one. */
function readToken(token: string): { iat?: number; auth_time?: number; acr?: string } {
  try {
    return JSON.parse(atob(token.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/'))) as object;
  } catch {
    return {};
  }
}
