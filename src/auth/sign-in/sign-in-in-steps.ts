import type { EntityManager } from 'typeorm';
import { appendInSteps } from '../../channel/append-in-steps.js';
import { OWN_EVENTS_TTL } from '../../channel/append.sql.js';
import { isDeviceBeyond, selectDeviceFacts, upsertNamedDevice } from '../../device/device.sql.js';
import { hasMostSessions, insertAccessToken, insertRefreshToken } from '../../token/sessions/session.sql.js';
import { selectUser, upsertUser } from '../../user/user.sql.js';
import type { Beyond, SignIn } from './sign-in-together.js';

const USER = upsertUser({
  userId: '$1',
  provider: '$2',
  providerUserId: '$3',
  username: '$4',
  email: '$5',
  avatarUrl: '$6',
});
// After the user's row is locked, so that concurrent sign-ins cannot exceed the bounds.
const HAS_MOST_SESSIONS = selectUser('$1', hasMostSessions('$1'));
const IS_DEVICE_BEYOND = selectUser('$1', isDeviceBeyond('$1', '$2'));
const DEVICE = upsertNamedDevice({ userId: '$1', deviceId: '$2', deviceName: '$3', userAgent: '$4' });
const FACTS = selectDeviceFacts('$1', '$2');
const REFRESH_TOKEN = insertRefreshToken({
  userId: '$1',
  sessionId: '$2',
  deviceId: '$3',
  tokenHash: '$4',
  ttl: '$5',
  jkt: '$6',
  providerSubject: '$7',
  providerSession: '$8',
});
const ACCESS_TOKEN = insertAccessToken({
  userId: '$1',
  sessionId: '$2',
  jti: '$3',
  expiresAt: '$4',
  token: '$5',
});

/** Undoes the transaction of a sign-in that is beyond the user's bounds. */
export class BeyondBounds extends Error {
  override readonly name = 'BeyondBounds';

  constructor(readonly beyond: Beyond) {
    super(`the user has too many ${beyond}s`);
  }
}

/**
 * All rows of a sign-in on Citus, in steps (see appendInSteps). It spans rooms.
 *
 * @param manager of one transaction
 * @param id of the event that announces a sign-in on a device
 * @param history `Settings.channelHistory`
 * @returns that event; undefined for a sign-in without a device
 * @throws BeyondBounds
 */
export async function signInInSteps(
  manager: EntityManager,
  {
    session,
    provider,
    identity,
    deviceName,
    userAgent,
    refreshTokenHash,
    refreshTokenTtl,
    jkt,
    providerSubject,
    providerSession,
    accessToken,
  }: SignIn,
  id: string,
  history: number,
): Promise<{ event_offset: string; data: string; sent_at: Date } | undefined> {
  const { userId, sessionId, deviceId } = session;
  const { providerUserId, username, email, avatarUrl } = identity;
  const { jti, expiresAt, token } = accessToken;
  await manager.query(USER, [userId, provider, providerUserId, username, email, avatarUrl]);
  const has = async (...query: [string, unknown[]]): Promise<boolean> =>
    (await manager.query<unknown[]>(...query)).length > 0;
  if (await has(HAS_MOST_SESSIONS, [userId])) throw new BeyondBounds('session');
  if (deviceId !== null && (await has(IS_DEVICE_BEYOND, [userId, deviceId])))
    throw new BeyondBounds('device');
  if (deviceId !== null) await manager.query(DEVICE, [userId, deviceId, deviceName, userAgent]);
  await manager.query(REFRESH_TOKEN, [
    userId,
    sessionId,
    deviceId,
    refreshTokenHash,
    refreshTokenTtl,
    jkt,
    providerSubject,
    providerSession,
  ]);
  await manager.query(ACCESS_TOKEN, [userId, sessionId, jti, expiresAt, token]);
  if (deviceId === null) return undefined;
  const [facts] = await manager.query<{ data: string }[]>(FACTS, [userId, deviceId]);
  const { data } = facts!;
  const event = { userId, id, event: 'device.signed_in', data, deviceId: null, ttl: OWN_EVENTS_TTL };
  return { data, ...(await appendInSteps(manager, event, history)) };
}
