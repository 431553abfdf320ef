import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import {
  APPROVED,
  FIRST_SIGN_IN,
  toAuditFacts,
  toRow,
  type Merged,
  type RefusalReason,
  type SignIn,
  type SignInNews,
  type SignInResult,
  type SignInRow,
} from '../auth/sign-in/sign-in-columns.js';
import { SignInStore } from '../auth/sign-in/sign-in.store.js';
import { OWN_EVENTS_TTL } from '../channel/append.sql.js';
import { appendInSteps } from './channel.history.js';
import {
  CREATE_USER,
  DELETE_WORDS,
  FIND_END,
  FIND_NEWS,
  FIND_REACHED_BOUND,
  INSERT_ACCESS_TOKEN,
  INSERT_SESSION,
  INSERT_WORDS,
  LOCK_USER,
  MARK_SEEN,
  SELECT_DEVICE_FACTS,
  UPDATE_PROFILE,
  UPSERT_DEVICE,
} from './sign-in.sql.js';

type Run = <Row extends object>(text: string, values: unknown[]) => Promise<Row[]>;

/** Writes each sign-in in a transaction of several statements. */
@Injectable()
export class CitusSignInStore extends SignInStore {
  override write(signIn: SignIn): Promise<SignInResult> {
    return this.dataSource.transaction((manager) => this.executeSteps(manager, signIn));
  }

  private async executeSteps(manager: EntityManager, signIn: SignIn): Promise<SignInResult> {
    // Raw: each has a lock, a condition on several tables, or the database's clock.
    const run: Run = (text, values) => manager.query(text, values);
    const row = toRow(signIn);
    const written = await writeUser(run, row);
    if (written.refused !== null) return written;
    const { isCreated } = written;
    const news = await this.findNews(run, row);
    await writeSession(run, row);
    const reason = isCreated ? FIRST_SIGN_IN : isApproved(signIn) ? APPROVED : null;
    const facts = toAuditFacts(signIn, { ...news, reason });
    if (!signIn.isDelegated) await this.audit.write(manager, [facts]);
    const { userId, deviceId } = signIn.session;
    if (deviceId === null) return { refused: null, isFirst: isCreated, event: null };
    const [device] = await run<{ data: string }>(SELECT_DEVICE_FACTS, [userId, deviceId]);
    const { data } = device!;
    const id = randomUUID();
    const event = { userId, id, event: 'device.signed_in', json: data, deviceId: null, ttl: OWN_EVENTS_TTL };
    const [appended] = await appendInSteps(manager, [event], this.settings.channelHistory);
    return { refused: null, isFirst: isCreated, event: { id, data, ...appended! } };
  }

  private async findNews(run: Run, row: SignInRow): Promise<Omit<SignInNews, 'reason'>> {
    const { retentionDays } = this.audit;
    if (retentionDays === 0) return { newDevice: null, newNetwork: null };
    const values = [row.user_id, row.device_id, row.address, retentionDays];
    const [news] = await run<Omit<SignInNews, 'reason'>>(FIND_NEWS, values);
    return news!;
  }
}

interface LockedUser {
  readonly version: number;
  readonly has_application_claims: boolean;
  readonly suspended: boolean;
  readonly mergedInto: string | null;
  readonly is_new: boolean;
  readonly ended: boolean | null;
}

/** Locks and writes the user. @returns `refused`: why nothing was written */
async function writeUser(
  run: Run,
  row: SignInRow,
): Promise<
  { readonly refused: RefusalReason } | Merged | { readonly refused: null; readonly isCreated: boolean }
> {
  const { user_id: userId, username, email, avatar_url, email_key, identity } = row;
  const profile = [username, email, avatar_url, email_key, identity];
  const [user] = await run<LockedUser>(LOCK_USER, [userId, row.requested_at]);
  if (!user) {
    // they belonged to a user who has been removed since
    if (row.has_application_claims) return { refused: 'claims' };
    if ((await run(FIND_END, [userId, row.requested_at])).length > 0) return { refused: 'signed_out' };
    const claims = [row.provider_claims, row.claims, row.claims_version];
    const values = [userId, row.provider, row.provider_user_id, ...profile, ...claims];
    if ((await run(CREATE_USER, values)).length === 0) return { refused: 'claims' };
    await run(INSERT_WORDS, [userId, wordsOf(row)]);
    return { refused: null, isCreated: true };
  }
  if (user.mergedInto !== null) return { refused: 'merged', mergedInto: user.mergedInto };
  if (user.suspended) return { refused: 'suspended' };
  if (user.ended === true) return { refused: 'signed_out' };
  const isSame =
    user.version === row.claims_version && user.has_application_claims === row.has_application_claims;
  if (!isSame) return { refused: 'claims' };
  const bounds = await run<{ refused: RefusalReason | null }>(FIND_REACHED_BOUND, [userId, row.device_id]);
  const { refused } = bounds[0]!;
  if (refused !== null) return { refused };
  const updated = await run<object[]>(UPDATE_PROFILE, [userId, ...profile]);
  if (updated[0]!.length > 0) {
    await run(DELETE_WORDS, [userId, wordsOf(row)]);
    await run(INSERT_WORDS, [userId, wordsOf(row)]);
  }
  if (user.is_new) await run(MARK_SEEN, [userId]);
  return { refused: null, isCreated: user.is_new };
}

function isApproved({ begunAt, requestedAt }: SignIn): boolean {
  return begunAt !== undefined && begunAt < requestedAt;
}

function wordsOf({ word_keys: keys }: SignInRow): string[] {
  return keys === '' ? [] : (keys as string).split('\n');
}

async function writeSession(run: Run, row: SignInRow): Promise<void> {
  const { user_id, session_id, device_id, user_agent, address } = row;
  if (device_id !== null)
    await run(UPSERT_DEVICE, [user_id, device_id, row.device_name, user_agent, address]);
  const key = [user_id, session_id];
  const names = [row.provider_subject, row.provider_session, row.id_token, row.auth_time];
  await run(INSERT_SESSION, [
    ...key,
    device_id,
    row.token_hash,
    row.ttl,
    row.jkt,
    ...names,
    address,
    user_agent,
    row.idle_ttl,
    row.session_expiry,
    row.begun_at,
    row.joined_identity_id,
  ]);
  await run(INSERT_ACCESS_TOKEN, [...key, row.jti, row.token_expires_at, row.token]);
}
