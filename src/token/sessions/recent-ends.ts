import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { addressKey } from '../../platform/config/urls/email-address.js';
import { Sql } from '../../platform/database/sql.js';
import { LogoutToken } from './logout-token.entity.js';

/** Names of a provider for a person and a session. */
export interface ProviderNames {
  readonly subject: string | null;
  readonly session: string | null;
  /** Absent in an end that does not name the person by it. */
  readonly email?: string | null;
}

/** A sign-in, as an end may name it. */
interface SignInNames {
  readonly provider: string;
  readonly identity: ProviderNames;
  /** Of a user who has just been created; an end finds other users by their row. */
  readonly newUserId?: string | undefined;
}

/**
 * Seconds for which the names of an end are stored: longer than a sign-in takes after the provider was asked.
 * On the page for devices, it may wait ten minutes for its answer.
 */
export const REMEMBERED_S = 720;

// Raw SQL: batched on the hot path of a sign-in.
const FIND_ENDS = {
  name: 'ended-since',
  text: `
    SELECT token_hash AS hash, extract(epoch FROM expires_at - interval '${REMEMBERED_S} s')::float8 AS at
    FROM logout_tokens WHERE token_hash = ANY ($1::bytea[])`,
};

// Raw: the later one of two ends holds. Parameters: name, latest begin of a sign-in (NULL: now).
const REMEMBER = `
  INSERT INTO logout_tokens AS present (token_hash, expires_at)
  VALUES ($1, least(now(), $2::timestamptz) + interval '${REMEMBERED_S} s')
  ON CONFLICT (token_hash) DO UPDATE SET expires_at = greatest(present.expires_at, excluded.expires_at)`;

interface Lookup {
  readonly hashes: readonly Buffer[];
  /** Seconds since the epoch. */
  readonly at: number;
}

/**
 * Recent ends of sessions by name, for sign-ins in progress (docs/development.md#ends-of-sessions): those by
 * names of a provider, and by the id of a user who has no row yet.
 */
@Injectable()
export class RecentEnds {
  private readonly isEnded: (lookup: Lookup) => Promise<boolean>;

  constructor(private readonly sql: Sql) {
    this.isEnded = sql.batched('ended-since', (lookups: Lookup[]) => this.areEnded(lookups));
  }

  /**
   * Stores names of a provider. After the commit, the caller ends the sessions with these names (again).
   * @param until latest begin of a sign-in that is meant; null: now
   */
  async remember(manager: EntityManager, provider: string, names: ProviderNames, until: Date | null = null) {
    // Sorted, so that two ends cannot deadlock.
    for (const name of meant(provider, names).toSorted((a, b) => a.compare(b))) {
      await manager.query(REMEMBER, [name, until]);
    }
  }

  /** Stores the id of a user without a row. After the commit, the caller ends the user's sessions. */
  async rememberUser(manager: EntityManager, userId: string): Promise<void> {
    await manager.query(REMEMBER, [nameOfUser(userId), null]);
  }

  /**
   * Whether an end has named a sign-in since it began. Call it after the commit of the session: either this
   * finds the end, or the end finds the session.
   * @param requestedAt when the provider was asked, in milliseconds of the database's clock
   */
  async since(requestedAt: number, { provider, identity, newUserId }: SignInNames): Promise<boolean> {
    const hashes = named(provider, identity);
    if (newUserId !== undefined) hashes.push(nameOfUser(newUserId));
    if (hashes.length === 0) return false;
    return this.isEnded({ hashes, at: requestedAt / 1000 });
  }

  private async areEnded(lookups: readonly Lookup[]): Promise<boolean[]> {
    const all = lookups.flatMap(({ hashes }) => hashes);
    const rows = await this.sql.query<{ hash: Buffer; at: number }>(FIND_ENDS, [all]);
    return lookups.map(({ hashes, at }) =>
      rows.some((row) => row.at >= at && hashes.some((one) => one.equals(row.hash))),
    );
  }
}

/**
 * Names that an end means (docs/provider-sign-out.md#back-channel-logout). With a session alone, the subject
 * is unknown.
 */
function meant(provider: string, { subject, session, email = null }: ProviderNames): Buffer[] {
  if (session === null && email !== null) return [ofEmail(provider, email)];
  if (session === null) return subject === null ? [] : [ofSubject(provider, subject)];
  return [ofSession(provider, session), ...(subject === null ? [] : [ofUnnamed(provider, subject)])];
}

/** Names by which an end can mean the session of an identity; none without a name for subject or session. */
function named(provider: string, { subject, session, email = null }: ProviderNames): Buffer[] {
  if (subject === null) return session === null ? [] : [ofSession(provider, session)];
  const inPart = session === null ? ofUnnamed(provider, subject) : ofSession(provider, session);
  return [inPart, ofSubject(provider, subject), ...(email === null ? [] : [ofEmail(provider, email)])];
}

const ofSession = (provider: string, session: string): Buffer => hashOfName(provider, 'session', session);
const ofSubject = (provider: string, subject: string): Buffer => hashOfName(provider, 'subject', subject);
const ofEmail = (provider: string, email: string): Buffer => hashOfName(provider, 'email', addressKey(email));
/** Sessions of the subject without a name of the provider. */
const ofUnnamed = (provider: string, subject: string): Buffer => hashOfName(provider, 'unnamed', subject);

/**
 * SHA-256 of a provider's name for a subject, a session or a logout token; the database stores nothing else
 * of it.
 */
export function hashOfName(provider: string, ...names: readonly string[]): Buffer {
  // JSON: different names give different texts
  return hash('sha256', JSON.stringify([provider, ...names]), 'buffer');
}

export function hashIfNamed(provider: string, name: string | null): Buffer | null {
  return name === null ? null : hashOfName(provider, name);
}

/** As SIGN_IN makes it. */
function nameOfUser(userId: string): Buffer {
  return hash('sha256', userId, 'buffer');
}

/**
 * Stores a token as used, in the transaction of its effect. Of two transactions with one token, the second
 * waits for the first.
 * @param until seconds since the epoch
 * @returns false if it was used before
 * @public
 */
export async function rememberToken(manager: EntityManager, tokenHash: Buffer, until: number) {
  const inserted = await manager
    .createQueryBuilder()
    .insert()
    .into(LogoutToken)
    .values({ tokenHash, expiresAt: new Date(until * 1000) })
    .orIgnore()
    .returning(['tokenHash'])
    .execute();
  return (inserted.raw as unknown[]).length > 0;
}

/** Deletes a used token, for a transaction that has not done all of its effect. @public */
export async function forgetToken(manager: EntityManager, tokenHash: Buffer): Promise<void> {
  await manager.delete(LogoutToken, { tokenHash });
}
