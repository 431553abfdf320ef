import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { DatabaseBusy } from '../../database/database-busy.js';
import { errorCode } from '../../database/statements/error-facts.js';
import { Sql } from '../../database/statements/sql.js';
import { removeSignedOutLongest } from '../../device/device.store.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type ChannelEvent } from '../../events.js';
import { ARE_STORED, isProofUsed } from '../../token/sessions/session.sql.js';
import { BeyondBounds, signInInSteps } from './sign-in-in-steps.js';
import { signInTogether, type Beyond, type SignedInRow, type SignIn } from './sign-in-together.js';

/** Lock timeout of a batch: one locked user must not delay the others. */
const PATIENCE = '50ms';
/** SQLSTATEs of lock conflicts: serialization_failure, deadlock_detected, lock_not_available. */
const IN_THE_WAY = new Set<unknown>(['40001', '40P01', '55P03']);

/** Longest wait of a sign-in for others of its user (contract §3). */
const LATEST_MS = 1000;

/** Attempts to make room for a new device: a concurrent sign-in may take the room. */
const TRIES = 3;
/** Seconds. A session may end at any time. */
const RETRY_AFTER = '60';

/** The event of a sign-in, if it has one, or what the user has too many of. */
type Recorded = SignedInRow | undefined | Beyond;
/** Outcome of a batched sign-in. ALONE: it has to be written alone. USED: its proof was used before. */
type Shared = Recorded | typeof ALONE | typeof USED;
const ALONE = Symbol('alone');
const USED = Symbol('used');

/** Writes sign-ins. It spans rooms: their errors tell why a sign-in was refused. */
@Injectable()
export class SignInStore {
  /** Batches concurrent sign-ins into one statement (docs/benchmark.md). */
  private readonly together: (signIn: SignIn) => Promise<Shared>;
  /** Last sign-in of each user that is written alone, until it has ended. */
  private readonly turns = new Map<string, Promise<unknown>>();

  constructor(
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
    private readonly events: Events,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.together = sql.together('sign-in', (signIns: SignIn[]) => this.share(signIns));
  }

  /**
   * Records a sign-in. Once this has returned, its tokens survive a crash.
   * @throws OAuthError `invalid_dpop_proof` if its proof was used before; `slow_down` if the user has too many sessions or
   *   devices (contract §4)
   */
  async record(signIn: SignIn): Promise<void> {
    const { session, provider } = signIn;
    let row = await this.recordOnce(signIn);
    for (let left = TRIES; row === 'device' && left > 0 && (await this.makeRoom(session.userId)); left--)
      row = await this.recordOnce(signIn);
    if (typeof row === 'string') throw tooMany(row);
    this.events.emit('session.started', { ...session, provider });
    if (row) this.events.emit('channel.appended', channelEvent(session.userId, row));
  }

  private async recordOnce(signIn: SignIn): Promise<Recorded> {
    try {
      // On Citus a batch for users of many nodes would be committed in two phases on all of them.
      return await (this.sql.distributed ? this.recordInSteps(signIn) : this.recordAtOnce(signIn));
    } catch (error) {
      if (error instanceof BeyondBounds) return error.beyond;
      throw isProofUsed(error) ? proofUsed() : error;
    }
  }

  /** Removes the device that has been signed out the longest. @returns whether there is one */
  private async makeRoom(userId: string): Promise<boolean> {
    const room = await this.dataSource.transaction((manager) => removeSignedOutLongest(manager, userId));
    if (room?.isRemoved) this.events.emit('device.removed', { userId, deviceId: room.deviceId });
    return room !== undefined;
  }

  private async recordAtOnce(signIn: SignIn): Promise<Recorded> {
    const began = performance.now();
    const shared = await this.together(signIn);
    if (shared === USED) throw proofUsed();
    if (shared !== ALONE) return shared;
    const { userId } = signIn.session;
    return this.inTurn(userId, began, async () => {
      const rows = await signInTogether(this.sql, [signIn], this.settings.channelHistory, null);
      return rows.get(userId);
    });
  }

  /**
   * One of a user at a time: each that waits for a lock would hold a connection.
   * @param began when the caller began to wait, by `performance.now()`
   */
  private async inTurn<Result>(userId: string, began: number, work: () => Promise<Result>): Promise<Result> {
    const before = this.turns.get(userId);
    const turn = before ? before.then(() => inTime(began)).then(work) : work();
    const ended = turn.catch(() => undefined);
    this.turns.set(userId, ended);
    try {
      return await turn;
    } finally {
      if (this.turns.get(userId) === ended) this.turns.delete(userId);
    }
  }

  /**
   * Batches the first sign-in of each user, since one statement cannot write a row twice. The others are written alone, and all
   * are if the batch meets a lock.
   */
  private async share(signIns: readonly SignIn[]): Promise<Shared[]> {
    const firsts = new Map<string, SignIn>();
    for (const signIn of signIns) {
      if (!firsts.has(signIn.session.userId)) firsts.set(signIn.session.userId, signIn);
    }
    try {
      const sharing = [...firsts.values()];
      const rows = await signInTogether(this.sql, sharing, this.settings.channelHistory, PATIENCE);
      return signIns.map((signIn) => {
        const { userId } = signIn.session;
        return firsts.get(userId) === signIn ? rows.get(userId) : ALONE;
      });
    } catch (error) {
      if (isProofUsed(error) && signIns.length > 1) return this.shareWithoutUsed(signIns, error);
      if (!IN_THE_WAY.has(errorCode(error))) throw error;
      return signIns.map(() => ALONE);
    }
  }

  /** One statement finds all used proofs. Bisection would need 200 statements for 100 of them, while all others wait. */
  private async shareWithoutUsed(signIns: readonly SignIn[], error: unknown): Promise<Shared[]> {
    const userIds = signIns.map(({ session }) => session.userId);
    const jtis = signIns.map(({ accessToken }) => accessToken.jti);
    const found = await this.sql.query<{ place: number }>(ARE_STORED, [userIds, jtis]);
    if (found.length === 0) throw error; // the row is gone by now
    const used = new Set(found.map(({ place }) => signIns[place - 1]));
    const others = signIns.filter((signIn) => !used.has(signIn));
    const shared = others.length > 0 ? await this.share(others) : [];
    const results = new Map<SignIn, Shared>(others.map((signIn, i) => [signIn, shared[i]]));
    return signIns.map((signIn) => (used.has(signIn) ? USED : results.get(signIn)));
  }

  private async recordInSteps(signIn: SignIn): Promise<SignedInRow | undefined> {
    const id = randomUUID();
    const row = await this.dataSource.transaction((manager) =>
      signInInSteps(manager, signIn, id, this.settings.channelHistory),
    );
    return row && { id, ...row };
  }
}

function inTime(began: number): void {
  if (performance.now() - began > LATEST_MS) throw new DatabaseBusy('too many sign-ins of one user');
}

function tooMany(what: Beyond): OAuthError {
  return new OAuthError('slow_down', `the user has too many ${what}s: sign out of some of them first`, {
    headers: { 'Retry-After': RETRY_AFTER },
  });
}

function proofUsed(): OAuthError {
  return new OAuthError('invalid_dpop_proof', 'the DPoP proof was used before');
}

function channelEvent(userId: string, row: SignedInRow): ChannelEvent {
  return {
    id: row.id,
    userId,
    deviceId: null,
    offset: Number(row.event_offset),
    event: 'device.signed_in',
    data: JSON.parse(row.data) as unknown,
    sentAt: row.sent_at.toISOString(),
  };
}
