import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { toAuditRow } from '../../audit/audit-event.js';
import { AuditStore } from '../../audit/audit.store.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { OneAtATime } from '../../platform/database/limits.js';
import { isLockConflict, Sql } from '../../platform/database/sql.js';
import { DeviceStore } from '../../device/device.store.js';
import { Events, type ChannelEvent } from '../../platform/events.js';
import { lockUser } from '../../user/lock-user.js';
import {
  FIRST_SIGN_IN,
  toArrays,
  toAuditFacts,
  type Recorded,
  type RefusalReason,
  type SignIn,
  type SignInNews,
  type SignInResult,
  type StoredDeviceEvent,
} from './sign-in-columns.js';
import { SIGN_IN } from './sign-in.sql.js';
import { errorCode } from '../../platform/errors/error-facts.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';

/** Without a device, the event has no id. */
type Row = Omit<StoredDeviceEvent, 'id'> &
  SignInNews & {
    readonly userId: string;
    readonly refused: RefusalReason | null;
    readonly mergedInto: string | null;
    readonly id: string | null;
  };

/**
 * Devices that a sign-in removes at most, to make room for its own: a concurrent sign-in may take the room.
 * This suits a bound of thousands only: with a few devices, one that was used today would be removed.
 */
const MOST_REMOVED = 3;
/** One locked user must not delay the others of a batch. */
const BATCH_LOCK_TIMEOUT = '50ms';

const RETRY_UNBATCHED = Symbol('retry unbatched');

/** The user who has joined the verified identity. */
export class OtherUser {
  constructor(readonly userId: string) {}
}

/** Records sign-ins; concurrent ones are batched into one statement. */
@Injectable()
export class SignInStore {
  private readonly batched: (signIn: SignIn) => Promise<SignInResult | typeof RETRY_UNBATCHED>;
  private readonly queue = new OneAtATime('too many sign-ins of one user');

  constructor(
    protected readonly sql: Sql,
    protected readonly dataSource: DataSource,
    protected readonly audit: AuditStore,
    private readonly events: Events,
    private readonly devices: DeviceStore,
    @Inject(SETTINGS) protected readonly settings: Pick<Settings, 'channelHistory'>,
  ) {
    this.batched = sql.batched('sign-in', (signIns: SignIn[]) => this.executeBatch(signIns));
  }

  /**
   * Records a sign-in. Once this has returned, its tokens survive a crash.
   * @throws OAuthError `invalid_dpop_proof` if its proof was used before; `access_denied` if the user is
   *   suspended; `invalid_grant` if all sessions of the user have ended since it began; `slow_down` if the
   *   user has too many sessions or devices
   * @returns undefined if nothing was written, because the user has other claims than the token; OtherUser,
   *   because the identity is joined to that of another one
   */
  async record(signIn: SignIn): Promise<Recorded | OtherUser | undefined> {
    let result = await this.write(signIn).catch(rethrow);
    for (let left = MOST_REMOVED; result.refused === 'device' && left > 0; left--) {
      if (!(await this.removeOneDevice(signIn))) break;
      result = await this.write(signIn).catch(rethrow);
    }
    if (result.refused === 'claims') return undefined;
    if (result.refused === 'merged') return new OtherUser(result.mergedInto);
    if (result.refused !== null) throw toOAuthError(result.refused);
    if (result.event) this.announce(signIn.session.userId, result.event);
    return result;
  }

  /** Writes a sign-in as a whole, or not at all. */
  async write(signIn: SignIn): Promise<SignInResult> {
    const began = performance.now();
    const result = signIn.isDelegated ? RETRY_UNBATCHED : await this.batched(signIn);
    if (result !== RETRY_UNBATCHED) return result;
    const { userId } = signIn.session;
    const [alone] = await this.queue.run(userId, () => this.execute([signIn], null), began);
    return alone!;
  }

  /**
   * Executes the first sign-in of each user, since one statement cannot write a row twice. The others are to
   * be retried unbatched, as are all if the batch meets a lock or a used DPoP proof.
   */
  private async executeBatch(signIns: readonly SignIn[]): Promise<(SignInResult | typeof RETRY_UNBATCHED)[]> {
    const firsts = [...new Map(signIns.toReversed().map((one) => [one.session.userId, one])).values()];
    try {
      const results = await this.execute(firsts, BATCH_LOCK_TIMEOUT);
      const bySignIn = new Map(firsts.map((one, i) => [one, results[i]!]));
      return signIns.map((signIn) => bySignIn.get(signIn) ?? RETRY_UNBATCHED);
    } catch (error) {
      const isOfOne = isLockConflict(error) || (signIns.length > 1 && isProofUsed(error));
      if (!isOfOne) throw error;
      return signIns.map(() => RETRY_UNBATCHED);
    }
  }

  /**
   * Writes sign-ins of different users in one statement: all but the refused ones, or none. It sees committed
   * sessions only: concurrent sign-ins of one user, at most three per instance, may exceed a bound by two.
   * @param lockTimeout as PostgreSQL's `lock_timeout`; null: only the statement timeout applies
   */
  async execute(signIns: readonly SignIn[], lockTimeout: string | null): Promise<SignInResult[]> {
    const isAudited = !signIns.some(({ isDelegated }) => isDelegated);
    const scalars = [lockTimeout, this.settings.channelHistory, isAudited ? this.audit.retentionDays : 0];
    const rows = await this.sql.query<Row>(SIGN_IN, [...scalars, ...toArrays(signIns)]);
    const byUser = new Map(rows.map((row) => [row.userId, row]));
    const results = signIns.map(({ session }) => byUser.get(session.userId)!);
    const recorded = signIns.flatMap((one, i) => {
      const result = results[i]!;
      return result.refused === null ? toAuditRow(one.session.sessionId, toAuditFacts(one, result)) : [];
    });
    if (isAudited) this.audit.publish(recorded);
    return results.map(toResult);
  }

  /** Removes the device that has been signed out the longest. @returns whether there is one */
  private removeOneDevice({ session: { userId }, provider, origin }: SignIn): Promise<boolean> {
    return this.dataSource.transaction(async (manager) => {
      await lockUser(manager, userId);
      const deviceId = await this.devices.removeSignedOutLongest(manager, userId);
      if (deviceId === undefined) return false;
      const [event, reason] = ['device_removed', 'too many devices'] as const;
      await this.audit.write(manager, [{ event, userId, deviceId, provider, reason, origin }]);
      return true;
    });
  }

  private announce(userId: string, { id, event_offset, data, sent_at }: StoredDeviceEvent): void {
    const event: ChannelEvent = {
      id,
      userId,
      deviceId: null,
      offset: Number(event_offset),
      event: 'device.signed_in',
      data: JSON.parse(data) as unknown,
      sentAt: sent_at.toISOString(),
    };
    this.events.emit('channel.appended', [event]);
  }
}

function toResult({ refused, mergedInto, id, reason, ...event }: Row): SignInResult {
  if (mergedInto !== null) return { refused: 'merged', mergedInto };
  if (refused !== null) return { refused };
  return { refused: null, isFirst: reason === FIRST_SIGN_IN, event: id === null ? null : { ...event, id } };
}

/** Seconds. A session may end at any time. */
const RETRY_AFTER = '60';

export function toOAuthError(reason: Exclude<RefusalReason, 'claims'>): OAuthError {
  if (reason === 'suspended') {
    return new OAuthError('access_denied', 'the user is suspended', { reason });
  }
  if (reason === 'signed_out') return endedMeanwhile();
  const message = `the user has too many ${reason}s: sign out of some of them first`;
  return new OAuthError('slow_down', message, { headers: { 'Retry-After': RETRY_AFTER } });
}

/** The user was signed out everywhere, or by the provider, since the sign-in began. */
export function endedMeanwhile(): OAuthError {
  const reason = 'signed_out';
  return new OAuthError('invalid_grant', 'the user was signed out during the sign-in', { reason });
}

/** Throws an error of the database, or what it means. */
function rethrow(error: unknown): never {
  if (!isProofUsed(error)) throw error;
  throw new OAuthError('invalid_dpop_proof', 'the DPoP proof was used before');
}

const UNIQUE_VIOLATION = '23505';

/**
 * Whether a transaction failed because an access token with this `jti` is stored: its proof was used. The
 * name of the constraint may end with the number of a shard.
 */
export function isProofUsed(error: unknown): boolean {
  if (errorCode(error) !== UNIQUE_VIOLATION) return false;
  const { constraint = '' } = error as { readonly constraint?: string };
  return constraint.startsWith('access_tokens_pkey');
}
