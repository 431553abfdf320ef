import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Sql } from '../../database/sql.js';
import type { Logout } from './logout-claims.js';
import { LogoutToken } from './logout-token.entity.js';

type Names = Pick<Logout, 'subject' | 'session'>;

/**
 * Seconds for which the names of a logout are stored: longer than a sign-in takes after the provider was
 * asked. On the page for devices, it may wait ten minutes for its answer.
 */
const REMEMBERED_S = 720;

// Raw SQL: batched on the hot path of a sign-in.
const LOGOUTS = {
  name: 'logged-out-since',
  text: `
    SELECT token_hash AS hash, extract(epoch FROM expires_at - interval '${REMEMBERED_S} s')::float8 AS at
    FROM logout_tokens WHERE token_hash = ANY ($1::bytea[])`,
};

interface Lookup {
  readonly hashes: readonly Buffer[];
  /** Seconds since the epoch. */
  readonly at: number;
}

/**
 * Recent logouts by providers, for sign-ins in progress: their session did not exist yet when the logout
 * ended sessions.
 */
@Injectable()
export class LoggedOut {
  private readonly isLoggedOut: (lookup: Lookup) => Promise<boolean>;

  constructor(private readonly sql: Sql) {
    this.isLoggedOut = sql.batched('logged-out-since', (lookups: Lookup[]) => this.areLoggedOut(lookups));
  }

  /** Stores the names of a logout. @param manager of the transaction that ends the existing sessions */
  async remember(manager: EntityManager, provider: string, logout: Names): Promise<void> {
    // Sorted, so that two logouts cannot deadlock.
    for (const name of meant(provider, logout).toSorted((a, b) => a.compare(b))) {
      const expiresAt = (): string => `now() + interval '${REMEMBERED_S} s'`;
      await manager.upsert(LogoutToken, { tokenHash: name, expiresAt }, ['tokenHash']);
    }
  }

  /**
   * Whether an identity was logged out since the provider was asked for it, in milliseconds of the database's
   * clock. Call it after the commit of the session: either this finds the logout, or the logout finds the
   * session.
   */
  async since(requestedAt: number, provider: string, identity: Names): Promise<boolean> {
    const hashes = named(provider, identity);
    if (hashes.length === 0) return false; // a provider without logout tokens
    return this.isLoggedOut({ hashes, at: requestedAt / 1000 });
  }

  private async areLoggedOut(lookups: readonly Lookup[]): Promise<boolean[]> {
    const all = lookups.flatMap(({ hashes }) => hashes);
    const rows = await this.sql.query<{ hash: Buffer; at: number }>(LOGOUTS, [all]);
    return lookups.map(({ hashes, at }) =>
      rows.some((row) => row.at >= at && hashes.some((one) => one.equals(row.hash))),
    );
  }
}

/**
 * Names that a logout ends (docs/provider-sign-out.md#back-channel-logout). With a session alone, the subject
 * is unknown.
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

const LONGER_S = 60; // seconds beyond the token's end, for differences between clocks

/**
 * Stores a logout token as used until it expires, in the transaction of the sign-out.
 * @returns false if it was used before
 */
export function rememberLogout(manager: EntityManager, provider: string, { jti, until }: Logout) {
  return rememberToken(manager, hashOfName(provider, jti), until + LONGER_S);
}

/** Deletes a used logout token, for a transaction that does not end all sessions. */
export function forgetLogout(manager: EntityManager, provider: string, { jti }: Pick<Logout, 'jti'>) {
  return forgetToken(manager, hashOfName(provider, jti));
}

/**
 * Stores a token as used, in the transaction of its effect. Of two transactions with one token, the second
 * waits for the first.
 * @param until seconds since the epoch
 * @returns false if it was used before
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

/** Deletes a used token, for a transaction that has not done all of its effect. */
export async function forgetToken(manager: EntityManager, tokenHash: Buffer): Promise<void> {
  await manager.delete(LogoutToken, { tokenHash });
}
