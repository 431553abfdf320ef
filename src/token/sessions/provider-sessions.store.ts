import type { EntityManager } from 'typeorm';
import { ending } from './session.store.js';

/** Names of sessions at a provider, as hashes (see RefreshToken). At least one is present. */
export interface NamesAtProvider {
  readonly session: Buffer | null;
  readonly subjects: readonly Buffer[];
}

/** Users that one name may have: a provider with one name for all sessions must not end all of them. */
const MOST_USERS = 100;

/** Condition on a row, from the parameters for session and subjects (contract §6, provider logout). */
const isMeant = (session: string, subjects: string): string => `
    provider_session = ${session}
    OR provider_subject = ANY (${subjects}::bytea[]) AND (${session}::bytea IS NULL OR provider_session IS NULL)`;

const SUBJECTS = `
  SELECT DISTINCT provider_subject AS subject FROM refresh_tokens
  WHERE provider_session = $1 AND provider_subject IS NOT NULL LIMIT ${MOST_USERS}`;
const USERS = `
  SELECT DISTINCT user_id AS "userId" FROM refresh_tokens
  WHERE signed_out_at IS NULL AND (${isMeant('$1', '$2')})
  ORDER BY user_id LIMIT ${MOST_USERS + 1}`;

const END = ending(isMeant('$2', '$3'));

/** Error: more than MOST_USERS users have one name. */
export class TooManyUsers extends Error {
  override readonly name = 'TooManyUsers';
}

/** Adds the subjects of the session if the provider names only the session: other sessions of the subject may be meant as well. */
export async function withItsSubjects(
  manager: EntityManager,
  { session, subjects }: NamesAtProvider,
): Promise<NamesAtProvider> {
  if (session === null || subjects.length > 0) return { session, subjects };
  const rows = await manager.query<{ subject: Buffer }[]>(SUBJECTS, [session]);
  return { session, subjects: rows.map(({ subject }) => subject) };
}

/** Returns the users with sessions that are meant and not signed out, ordered by id. @throws TooManyUsers */
export async function usersAtProvider(
  manager: EntityManager,
  { session, subjects }: NamesAtProvider,
): Promise<string[]> {
  const rows = await manager.query<{ userId: string }[]>(USERS, [session, subjects]);
  if (rows.length > MOST_USERS) throw new TooManyUsers(`more than ${MOST_USERS} users have the same name`);
  return rows.map(({ userId }) => userId);
}

/** Ends a slice of the sessions of a user that are meant, as `endSessions` does. */
export async function endSessionsAtProvider(
  manager: EntityManager,
  userId: string,
  { session, subjects }: NamesAtProvider,
): Promise<(string | null)[]> {
  const [ended] = await manager.query<[{ device_id: string | null }[], number]>(END, [
    userId,
    session,
    subjects,
  ]);
  return ended.map((row) => row.device_id);
}
