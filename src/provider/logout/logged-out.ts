import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Sql } from '../../database/statements/sql.js';
import type { Logout } from './logout-claims.js';

type Names = Pick<Logout, 'subject' | 'session'>;

/** Seconds for which a logout is remembered by its name: longer than any sign-in is under way at the provider and here. */
const REMEMBERED_S = 120;

const REMEMBER = `
  INSERT INTO logout_tokens AS l (token_hash, expires_at) VALUES ($1, now() + interval '${REMEMBERED_S} s')
  ON CONFLICT (token_hash) DO UPDATE SET expires_at = excluded.expires_at`;

const IS_SINCE = (asked: string): string =>
  `expires_at >= to_timestamp(${asked}) + interval '${REMEMBERED_S} s'`;

const SINCE = {
  name: 'logged-out-since',
  text: `
    SELECT n.place FROM unnest($1::bytea[], $2::float8[], $3::int[]) AS n (hash, asked, place)
    JOIN logout_tokens ON token_hash = n.hash AND ${IS_SINCE('n.asked')}`,
};

// A sign-in that asks alone, as every one does on Citus.
const SINCE_ONE = {
  name: 'logged-out-since-one',
  text: `SELECT FROM logout_tokens WHERE token_hash = ANY ($1::bytea[]) AND ${IS_SINCE('$2')}`,
};

interface Asked {
  readonly hashes: readonly Buffer[];
  /** Seconds since the epoch. */
  readonly at: number;
}

/**
 * What providers have logged out a moment ago, for sign-ins that were under way: their identity is older than the logout, and
 * their session was not there yet to be ended.
 */
@Injectable()
export class LoggedOut {
  /** Sign-ins that have been committed together ask together. */
  private readonly isSince: (asked: Asked) => Promise<boolean>;

  constructor(private readonly sql: Sql) {
    this.isSince = sql.together('logged-out-since', (asked: Asked[]) => this.areSince(asked));
  }

  /**
   * Remembers the session that a logout names, and that sessions of its subject without a name are meant as well; else the
   * subject.
   * @param manager of the transaction that ends the sessions which are there already
   */
  async remember(manager: EntityManager, provider: string, logout: Names): Promise<void> {
    // In one order, so that no two logouts wait for each other.
    for (const hash of meant(provider, logout).toSorted((a, b) => a.compare(b))) {
      await manager.query(REMEMBER, [hash]);
    }
  }

  /**
   * Whether an identity was logged out since it was asked for. To be called once its session is committed: then either this
   * finds the logout, or the logout finds the session when it looks a second time.
   *
   * @param asked when the provider was asked: milliseconds, by the database's clock
   */
  async since(asked: number, provider: string, identity: Names): Promise<boolean> {
    const hashes = named(provider, identity);
    if (hashes.length === 0) return false; // of a provider that sends no logouts
    return this.isSince({ hashes, at: asked / 1000 });
  }

  private async areSince(asked: readonly Asked[]): Promise<boolean[]> {
    if (asked.length === 1) {
      const { hashes, at } = asked[0]!;
      return [(await this.sql.query(SINCE_ONE, [hashes, at])).length > 0];
    }
    const names = asked.flatMap(({ hashes, at }, place) => hashes.map((hash) => ({ hash, at, place })));
    const rows = await this.sql.query<{ place: number }>(SINCE, [
      names.map(({ hash }) => hash),
      names.map(({ at }) => at),
      names.map(({ place }) => place),
    ]);
    const found = new Set(rows.map(({ place }) => place));
    return asked.map((_, place) => found.has(place));
  }
}

/** What a logout means (contract §6). Of a session alone the subject is not known here. */
function meant(provider: string, { subject, session }: Names): Buffer[] {
  if (session === null) return subject === null ? [] : [ofSubject(provider, subject)];
  return [ofSession(provider, session), ...(subject === null ? [] : [ofUnnamed(provider, subject)])];
}

/** By what a logout can mean an identity. */
function named(provider: string, { subject, session }: Names): Buffer[] {
  if (subject === null) return session === null ? [] : [ofSession(provider, session)];
  const inPart = session === null ? ofUnnamed(provider, subject) : ofSession(provider, session);
  return [inPart, ofSubject(provider, subject)];
}

const ofSession = (provider: string, session: string): Buffer => hashOfName(provider, 'session', session);
const ofSubject = (provider: string, subject: string): Buffer => hashOfName(provider, 'subject', subject);
/** Of the subject's sessions only those that the provider gave no name. */
const ofUnnamed = (provider: string, subject: string): Buffer => hashOfName(provider, 'unnamed', subject);

/**
 * SHA-256 of a provider and something that it named (a subject, a session, the `jti` of a logout token): all that the database
 * keeps of it. As a JSON array, so that no other texts give the same.
 */
export function hashOfName(provider: string, ...names: readonly string[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([provider, ...names]))
    .digest();
}

/** The same of something that may have no name. */
export function hashIfNamed(provider: string, name: string | null): Buffer | null {
  return name === null ? null : hashOfName(provider, name);
}

/** Seconds beyond its end: instances know the database's clock only so well. */
const LONGER_S = 60;

// Of two that have the same token, the second waits for the first one's transaction.
const REMEMBER_TOKEN = `
  INSERT INTO logout_tokens (token_hash, expires_at) VALUES ($1, to_timestamp($2))
  ON CONFLICT (token_hash) DO NOTHING RETURNING 1`;

/**
 * Remembers that a logout token is obeyed, until it is good no more.
 *
 * @param manager of the transaction that obeys it
 * @returns whether it was not obeyed before
 */
export async function rememberLogout(
  manager: EntityManager,
  provider: string,
  { jti, until }: Logout,
): Promise<boolean> {
  const rows = await manager.query<unknown[]>(REMEMBER_TOKEN, [hashOfName(provider, jti), until + LONGER_S]);
  return rows.length > 0;
}

const FORGET = 'DELETE FROM logout_tokens WHERE token_hash = $1';

/** Deletes what `rememberLogout` has stored, for a transaction that does not end all sessions. */
export async function forgetLogout(
  manager: EntityManager,
  provider: string,
  { jti }: Pick<Logout, 'jti'>,
): Promise<void> {
  await manager.query(FORGET, [hashOfName(provider, jti)]);
}
