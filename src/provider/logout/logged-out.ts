import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Sql } from '../../database/sql.js';
import type { Logout } from './logout-claims.js';

type Names = Pick<Logout, 'subject' | 'session'>;

/** Seconds for which the names of a logout are stored: longer than a sign-in takes after the provider was asked. */
const REMEMBERED_S = 120;

const REMEMBER = `
  INSERT INTO logout_tokens AS l (token_hash, expires_at) VALUES ($1, now() + interval '${REMEMBERED_S} s')
  ON CONFLICT (token_hash) DO UPDATE SET expires_at = excluded.expires_at`;

// Raw SQL: batched on the hot path of a sign-in.
const LOGOUTS = {
  name: 'logged-out-since',
  text: `
    SELECT token_hash AS hash, extract(epoch FROM expires_at - interval '${REMEMBERED_S} s')::float8 AS at
    FROM logout_tokens WHERE token_hash = ANY ($1::bytea[])`,
};

interface Asked {
  readonly hashes: readonly Buffer[];
  /** Seconds since the epoch. */
  readonly at: number;
}

/** Recent logouts by providers, for sign-ins in progress: their session did not exist yet when the logout ended sessions. */
@Injectable()
export class LoggedOut {
  private readonly isSince: (asked: Asked) => Promise<boolean>;

  constructor(private readonly sql: Sql) {
    this.isSince = sql.batched('logged-out-since', (asked: Asked[]) => this.areSince(asked));
  }

  /** Stores the names of a logout. @param manager of the transaction that ends the existing sessions */
  async remember(manager: EntityManager, provider: string, logout: Names): Promise<void> {
    // Sorted, so that two logouts cannot deadlock.
    for (const name of meant(provider, logout).toSorted((a, b) => a.compare(b))) {
      await manager.query(REMEMBER, [name]);
    }
  }

  /**
   * Whether an identity was logged out since the provider was asked for it, in milliseconds of the database's clock. Call it after
   * the commit of the session: either this finds the logout, or the logout finds the session.
   */
  async since(asked: number, provider: string, identity: Names): Promise<boolean> {
    const hashes = named(provider, identity);
    if (hashes.length === 0) return false; // a provider without logout tokens
    return this.isSince({ hashes, at: asked / 1000 });
  }

  private async areSince(asked: readonly Asked[]): Promise<boolean[]> {
    const all = asked.flatMap(({ hashes }) => hashes);
    const rows = await this.sql.query<{ hash: Buffer; at: number }>(LOGOUTS, [all]);
    return asked.map(({ hashes, at }) =>
      rows.some((row) => row.at >= at && hashes.some((one) => one.equals(row.hash))),
    );
  }
}

/**
 * Names that a logout ends (docs/providers.md#back-channel-logout). With a session alone, the subject is
 * unknown.
 */
function meant(provider: string, { subject, session }: Names): Buffer[] {
  if (session === null) return subject === null ? [] : [ofSubject(provider, subject)];
  return [ofSession(provider, session), ...(subject === null ? [] : [ofUnnamed(provider, subject)])];
}

/** Names by which a logout can end the session of an identity. */
function named(provider: string, { subject, session }: Names): Buffer[] {
  if (subject === null) return session === null ? [] : [ofSession(provider, session)];
  const inPart = session === null ? ofUnnamed(provider, subject) : ofSession(provider, session);
  return [inPart, ofSubject(provider, subject)];
}

const ofSession = (provider: string, session: string): Buffer => hashOfName(provider, 'session', session);
const ofSubject = (provider: string, subject: string): Buffer => hashOfName(provider, 'subject', subject);
/** Sessions of the subject without a name of the provider. */
const ofUnnamed = (provider: string, subject: string): Buffer => hashOfName(provider, 'unnamed', subject);

/** SHA-256 of a provider's name for a subject, a session or a logout token; the database stores nothing else of it. */
export function hashOfName(provider: string, ...names: readonly string[]): Buffer {
  return hash('sha256', JSON.stringify([provider, ...names]), 'buffer'); // JSON: different names give different texts
}

export function hashIfNamed(provider: string, name: string | null): Buffer | null {
  return name === null ? null : hashOfName(provider, name);
}

const LONGER_S = 60; // seconds beyond the token's end, for differences between clocks

// Of two transactions with one token, the second waits for the first.
const REMEMBER_TOKEN = `
  INSERT INTO logout_tokens (token_hash, expires_at) VALUES ($1, to_timestamp($2))
  ON CONFLICT (token_hash) DO NOTHING RETURNING 1`;

/** Stores a logout token as used until it expires, in the transaction of the sign-out. @returns false if it was used before */
export async function rememberLogout(manager: EntityManager, provider: string, { jti, until }: Logout) {
  const rows = await manager.query<unknown[]>(REMEMBER_TOKEN, [hashOfName(provider, jti), until + LONGER_S]);
  return rows.length > 0;
}

/** Deletes a used logout token, for a transaction that does not end all sessions. */
export async function forgetLogout(manager: EntityManager, provider: string, { jti }: Pick<Logout, 'jti'>) {
  await manager.query('DELETE FROM logout_tokens WHERE token_hash = $1', [hashOfName(provider, jti)]);
}
