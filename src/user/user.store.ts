import { Injectable } from '@nestjs/common';
import { IsNull, Not, type EntityManager } from 'typeorm';
import { writeLastUse } from '../database/last-use.js';
import { Sql } from '../database/sql.js';
import { formatCursor, parseCursor, type Place } from '../http/parameters/cursor.js';
import { User } from './user.entity.js';
import { REMOVE_SUSPENDED, selectRemoved, USER_USE, VOID_CLAIMS } from './user.sql.js';

/** Rows of users. */
@Injectable()
export class UserStore {
  constructor(private readonly sql: Sql) {}

  /** Sets the last use of users to now, at most once a minute and user. @param userIds each once */
  markUsed(userIds: readonly string[]): Promise<void> {
    return writeLastUse(
      this.sql,
      USER_USE,
      userIds.map((userId) => [userId]),
    );
  }
}

export type Account = Pick<User, 'provider' | 'providerUserId'>;

export function findAccount(manager: EntityManager, userId: string): Promise<Account | null> {
  return manager.findOneBy(User, { userId, removedAt: IsNull() });
}

/**
 * Locks a user for a change that the audit trail records, before all other rows: so the events of a user have the order of the commits.
 * Sign-ins of the user wait, pushes wait only for `UPDATE`, the lock of a removal.
 * @returns name of the user's provider; undefined without such a user
 */
export async function holdForAudit(
  manager: EntityManager,
  userId: string,
  strength: 'NO KEY UPDATE' | 'UPDATE' = 'NO KEY UPDATE',
): Promise<string | undefined> {
  const text = `SELECT provider FROM users WHERE user_id = $1 AND removed_at IS NULL FOR ${strength}`;
  const [held] = await manager.query<{ provider: string }[]>(text, [userId]);
  return held?.provider;
}

/** @returns whether the user exists and was not so before */
export async function setSuspended(
  manager: EntityManager,
  userId: string,
  suspended: boolean,
): Promise<boolean> {
  const before = { userId, suspendedAt: suspended ? IsNull() : Not(IsNull()) };
  const { affected } = await manager.update(User, before, { suspendedAt: suspended ? () => 'now()' : null });
  return affected! > 0;
}

/**
 * Removes the row of a locked user only; of a suspended user, the id stays, so that sign-ins are refused until `letInAgain`.
 * @param until when no token with the present claims can be valid any more
 */
export async function removeUser(manager: EntityManager, userId: string, until: Date): Promise<void> {
  const changed = { userId, claimsChangedAt: Not(IsNull()) };
  if (await manager.existsBy(User, changed)) await manager.query(VOID_CLAIMS, [userId, until]);
  await manager.query(REMOVE_SUSPENDED, [userId]);
  await manager.delete(User, { userId, removedAt: IsNull() });
}

/** Forgets the id of a removed user who was suspended. @returns whether there is one */
export async function letInAgain(manager: EntityManager, userId: string): Promise<boolean> {
  const { affected } = await manager.delete(User, { userId, removedAt: Not(IsNull()) });
  return affected! > 0;
}

interface Removed extends Place {
  readonly removed_at: Date;
}

const PAGE = 100;

/** Returns a page of removed users whose sign-ins are refused, latest first. @param cursor `next_cursor` of the page before */
export async function findRemoved(
  manager: EntityManager,
  cursor?: string,
): Promise<{ users: { user_id: string; removed_at: Date }[]; next_cursor?: string }> {
  const { place, id } = parseCursor(cursor) ?? {};
  const rows = await manager.query<Removed[]>(selectRemoved(PAGE), [place, id]);
  const page = rows.slice(0, PAGE);
  const users = page.map((row) => ({ user_id: row.id, removed_at: row.removed_at }));
  return { users, ...(rows.length > PAGE && { next_cursor: formatCursor(page.at(-1)!) }) };
}
