import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Sql } from '../../database/sql.js';
import { hashOfName } from './hash-of-name.js';
import type { Logout } from './logout-claims.js';

type Names = Pick<Logout, 'subject' | 'session'>;

/** Seconds for which a logout is remembered by its name: longer than any sign-in is under way at the provider and here. */
const REMEMBERED_S = 120;

const REMEMBER = `
  INSERT INTO logout_tokens AS l (token_hash, expires_at) VALUES ($1, now() + interval '${REMEMBERED_S} s')
  ON CONFLICT (token_hash) DO UPDATE SET expires_at = excluded.expires_at`;

const SINCE = {
  name: 'logged-out-since',
  text: `
    SELECT FROM logout_tokens
    WHERE token_hash = ANY ($1::bytea[]) AND expires_at >= to_timestamp($2) + interval '${REMEMBERED_S} s'`,
};

/**
 * What providers have logged out a moment ago, for sign-ins that were under way: their identity is older than the logout, and
 * their session was not there yet to be ended.
 */
@Injectable()
export class LoggedOut {
  constructor(private readonly sql: Sql) {}

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
    return (await this.sql.query(SINCE, [hashes, asked / 1000])).length > 0;
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
