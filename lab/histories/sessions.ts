import { CALM_MS, latestEffect, type Disturbances } from './disturbances.js';
import { Ends } from './ends.js';
import { addTo } from './groups.js';
import type { Limits } from './limits.js';
import { Merges } from './merges.js';
import {
  FINAL,
  type Connect,
  type HistoryEntry,
  type Issued,
  type KeyChange,
  type Merge,
  type Refresh,
  type SignIn,
  type SignOut,
  type Use,
} from './operation.js';

/** A session that was acknowledged, and what may have ended it. */
export interface SessionLife {
  readonly signIn: SignIn;
  readonly user: string;
  readonly device: string | null;
  /** All that may have ended it, up to the first that has for certain. */
  readonly enders: readonly SignOut[];
  /** The first call after whose answer it has ended for certain: with limits also a refused refresh. */
  ended: SignOut | Refresh | undefined;
  /** When the last call began that the service accepted for it. */
  lastAlive: number;
}

/** When an access token was issued. */
export interface TokenBirth extends Issued {
  /** By a sign-in or a refresh. */
  readonly by: SignIn | Refresh;
}

/** Sessions and tokens of a history, by their ids. */
export class Sessions {
  readonly lives = new Map<string, SessionLife>();
  readonly tokens = new Map<string, TokenBirth>();
  readonly revocations = new Map<string, KeyChange[]>();
  readonly ends: Ends;
  readonly merges: Merges;

  constructor(
    entries: readonly HistoryEntry[],
    private readonly disturbances: Disturbances,
    limits?: Limits,
  ) {
    const signOuts = this.signOutsByUser(entries);
    for (const entry of entries) {
      if (entry.kind === 'sign-in' && entry.outcome === 'ok') {
        this.lives.set(entry.issued!.session, lifeOf(entry, signOuts.get(entry.user!) ?? []));
      }
      if ((entry.kind === 'sign-in' || entry.kind === 'refresh') && entry.issued) {
        this.tokens.set(entry.issued.jti, { ...entry.issued, by: entry });
      }
      if (entry.kind === 'key' && entry.change === 'revoke' && entry.outcome !== 'refused') {
        addTo(this.revocations, entry.kid!, entry);
      }
    }
    for (const entry of entries) this.noteAlive(entry);
    if (limits) for (const entry of entries) this.noteRefused(entry);
    this.merges = new Merges(entries);
    this.ends = new Ends(entries, this.lives, disturbances, limits);
  }

  /** Whether a sign-out or a limit explains that a session had ended when something ended. */
  mayHaveEnded(session: string, by: number): boolean {
    return this.mayBeSignedOut(session, by) || this.ends.mayHaveEnded(session, by);
  }

  /** Whether a sign-out explains it, also one of unknown outcome. */
  mayBeSignedOut(session: string, by: number): boolean {
    const life = this.lives.get(session);
    if (!life) return true; // of a sign-in that was never answered
    return life.enders.some(
      // One that is not certain has not, if the session was alive after the last moment at which it could have taken effect.
      (ender) =>
        ender.begun <= by &&
        (ender === life.ended || life.lastAlive <= latestEffect(ender, this.disturbances) + CALM_MS),
    );
  }

  /** Whether a revocation explains that a key's tokens were refused when something ended. */
  mayBeRevoked(kid: string, by: number): boolean {
    return (this.revocations.get(kid) ?? []).some(({ begun }) => begun <= by);
  }

  private signOutsByUser(entries: readonly HistoryEntry[]): Map<string, Effect[]> {
    const byUser = new Map<string, Effect[]>();
    for (const signOut of entries) {
      if (signOut.kind !== 'sign-out' || signOut.outcome === 'refused') continue;
      addTo(byUser, signOut.user, { signOut, latest: latestEffect(signOut, this.disturbances) });
    }
    for (const list of byUser.values()) list.sort((a, b) => a.signOut.begun - b.signOut.begun);
    return byUser;
  }

  /** At the very end, readers of the feed are stopped: what ends then is not for them. */
  private noteRefused(entry: HistoryEntry): void {
    if (entry.kind !== 'refresh' || entry.error !== 'invalid_grant' || entry.client === FINAL) return;
    const life = this.lives.get(entry.session);
    if (life && entry.ended < (life.ended?.ended ?? Infinity)) life.ended = entry;
  }

  private noteAlive(entry: HistoryEntry): void {
    const session = acceptedSession(entry);
    const life = session === undefined ? undefined : this.lives.get(session);
    if (life) life.lastAlive = Math.max(life.lastAlive, entry.begun);
  }
}

interface Effect {
  readonly signOut: SignOut;
  readonly latest: number;
}

/** @param all sign-outs of the user, in the order in which they began */
function lifeOf(signIn: SignIn, all: readonly Effect[]): SessionLife {
  const enders: SignOut[] = [];
  let ended: SignOut | undefined;
  for (const { signOut, latest } of all) {
    if (ended && signOut.begun > ended.ended) break; // nothing is left to end
    if (latest < signIn.begun || !covers(signOut, signIn)) continue;
    enders.push(signOut);
    // A merge ends also what has begun since its own begin.
    const isBefore = signIn.ended <= signOut.begun || signOut.by === 'merge';
    const isCertain = signOut.outcome === 'ok' && isBefore;
    if (isCertain && (!ended || signOut.ended < ended.ended)) ended = signOut;
  }
  return { signIn, user: signIn.user!, device: signIn.device, enders, ended, lastAlive: signIn.begun };
}

function covers({ by, scope, user, session, device }: SignOut, signIn: SignIn): boolean {
  if (user !== signIn.user) return false;
  if (scope === 'all') return true;
  if (scope === 'session') return session === signIn.issued!.session;
  if (by === 'consent' && session === signIn.issued!.session) return false;
  if (scope === 'device') return device === signIn.device;
  return device === null ? session !== signIn.issued!.session : device !== signIn.device;
}

/** The session for which a call was accepted, if it was. */
function acceptedSession(entry: HistoryEntry): string | undefined {
  if (entry.kind === 'refresh') return entry.outcome === 'ok' ? entry.session : undefined;
  if (entry.kind === 'verify') return undefined; // an API may not know of the end yet
  const call = tokenCall(entry);
  return call?.outcome === 'ok' ? call.token.session : undefined;
}

/** A call that showed an access token. */
export type TokenCall = (
  | Use
  | Connect
  | Merge
  | (SignOut & Pick<Use, 'token'>)
  | Extract<HistoryEntry, { kind: 'rename' }>
) & {
  readonly token: NonNullable<SignOut['token']>;
};

const WITH_TOKEN = new Set<string>(['use', 'introspect', 'verify', 'connect', 'rename', 'sign-out', 'merge']);

/** The entry, if it is a call with an access token. */
export function tokenCall(entry: HistoryEntry): TokenCall | undefined {
  return WITH_TOKEN.has(entry.kind) && 'token' in entry ? (entry as TokenCall) : undefined;
}
