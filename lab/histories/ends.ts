import { accountOf } from './account.js';
import { CALM_MS, latestEffect, type Disturbances } from './disturbances.js';
import { addTo } from './groups.js';
import type { Limits } from './limits.js';
import type { HistoryEntry, Refresh, SignIn } from './operation.js';

/** Milliseconds by which a stored idle end may differ from the reported one: it is not written for less. */
export const UNWRITTEN_MS = 5000;
/** Milliseconds by which clocks of service and database may differ. */
const CLOCKS_MS = 200;

/** A session that was acknowledged. */
interface Life {
  readonly signIn: SignIn;
  readonly user: string;
  readonly ended: { readonly ended: number } | undefined;
  readonly lastAlive: number;
}

/** A use of a session, and for how long it has kept the session at least and at most. */
export interface Use {
  readonly by: SignIn | Refresh;
  /** Last moment at which it can have taken effect. */
  readonly latest: number;
  /** By its report; the stored end may be UNWRITTEN_MS before the first, or after the last. */
  readonly earliestEnd: number;
  readonly latestEnd: number;
}

interface Group {
  readonly previous: number;
  readonly begun: number;
  readonly ended: number;
  readonly next: number;
  readonly signIns: number;
}

/** Ends of sessions by idle time and by the number of sessions. */
export class Ends {
  /** By session, in the order in which they began. */
  readonly uses = new Map<string, Use[]>();
  /** By user, in the order in which they began: also those without an answer. */
  readonly signIns = new Map<string, SignIn[]>();
  private readonly beyond = new Map<SignIn, boolean>();

  constructor(
    entries: readonly HistoryEntry[],
    private readonly lives: ReadonlyMap<string, Life>,
    private readonly disturbances: Disturbances,
    private readonly limits: Limits | undefined,
  ) {
    if (!limits) return;
    const users = new Map<string, string>();
    for (const entry of entries)
      if (entry.kind === 'sign-in' && entry.user) users.set(accountOf(entry), entry.user);
    for (const entry of entries.toSorted((a, b) => a.begun - b.begun)) {
      if (entry.kind !== 'sign-in' && entry.kind !== 'refresh') continue;
      const isBeyond = entry.kind === 'refresh' && (entry.idleFor ?? 0) >= limits.idleTtl;
      if (entry.outcome === 'refused' && !isBeyond) continue;
      const user = entry.kind === 'sign-in' ? users.get(accountOf(entry)) : undefined;
      if (entry.kind === 'sign-in' && user !== undefined) addTo(this.signIns, user, entry);
      const session = entry.kind === 'sign-in' ? entry.issued?.session : entry.session;
      if (session !== undefined) addTo(this.uses, session, this.useOf(entry, limits));
    }
  }

  /** Whether a limit explains that a session had ended when something ended. */
  mayHaveEnded(session: string, by: number): boolean {
    const life = this.lives.get(session);
    return life !== undefined && (this.mayBeIdle(session, by) || this.mayBeTooMany(life, by));
  }

  /** Whether a session may have been unused for too long. */
  mayBeIdle(session: string, by: number): boolean {
    const uses = this.uses.get(session) ?? [];
    return uses.some(({ by: use, latest, earliestEnd }) => {
      const soonest = earliestEnd - UNWRITTEN_MS;
      if (use.begun > by || soonest > by) return false;
      const isMoved = ({ by: later }: Use): boolean =>
        later.outcome === 'ok' && later.begun > latest && later.ended <= soonest;
      return !uses.some(isMoved);
    });
  }

  /** The uses that may be the last one before a moment. */
  lastBefore(session: string, moment: number): Use[] {
    const uses = (this.uses.get(session) ?? []).filter(({ by }) => by.begun < moment);
    const isReplaced = ({ latest }: Use): boolean =>
      uses.some(({ by }) => by.outcome === 'ok' && by.begun > latest && by.ended < moment);
    return uses.filter((use) => !isReplaced(use));
  }

  private mayBeTooMany({ signIn, user, lastAlive }: Life, by: number): boolean {
    return (this.signIns.get(user) ?? []).some((other) => {
      if (other === signIn || other.begun > by) return false;
      const latest = latestEffect(other, this.disturbances);
      return latest >= signIn.begun && lastAlive <= latest + CALM_MS && this.mayBeBeyond(user, other);
    });
  }

  /** Whether a sign-in may have found more sessions of its user than the limit. */
  private mayBeBeyond(user: string, signIn: SignIn): boolean {
    const known = this.beyond.get(signIn);
    if (known !== undefined) return known;
    const isBeyond =
      this.liveAt(user, signIn, latestEffect(signIn, this.disturbances)).length > this.limits!.most;
    this.beyond.set(signIn, isBeyond);
    return isBeyond;
  }

  /** Sign-ins of a user whose sessions may have lived at some moment of a time. */
  liveAt(user: string, { begun }: { readonly begun: number }, end: number): SignIn[] {
    return (this.signIns.get(user) ?? []).filter((one) => {
      const ended = one.issued && this.lives.get(one.issued.session)?.ended;
      return one.begun <= end && !(ended && ended.ended < begun);
    });
  }

  /** Sign-ins of a user that overlap each other, when those before had ended, and when the next one began. */
  *groups(user: string): Generator<Group> {
    const all = this.signIns.get(user) ?? [];
    for (let i = 0, first = 0, ended = -Infinity; i < all.length; first = i) {
      const previous = ended;
      do ended = Math.max(ended, latestEffect(all[i]!, this.disturbances));
      while (++i < all.length && all[i]!.begun <= ended);
      yield {
        previous,
        begun: all[first]!.begun,
        ended,
        next: all[i]?.begun ?? Infinity,
        signIns: i - first,
      };
    }
  }

  private useOf(by: SignIn | Refresh, { idleTtl }: Limits): Use {
    const kept = (idleTtl - ((by.kind === 'refresh' && by.idleFor) || 0)) * 1000;
    const latest = latestEffect(by, this.disturbances);
    return { by, latest, earliestEnd: by.begun + kept - CLOCKS_MS, latestEnd: latest + kept + CLOCKS_MS };
  }
}
