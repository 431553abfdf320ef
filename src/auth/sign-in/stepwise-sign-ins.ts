import { randomUUID } from 'node:crypto';
import type { DataSource, EntityManager } from 'typeorm';
import { appendInSteps } from '../../channel/append-in-steps.js';
import { OWN_EVENTS_TTL } from '../../channel/append.sql.js';
import type { Settings } from '../../config/settings/settings.js';
import { isDeviceBeyond, selectDeviceFacts, UPSERT_DEVICE } from '../../device/device.sql.js';
import {
  hasMostSessions,
  INSERT_ACCESS_TOKEN,
  INSERT_REFRESH_TOKEN,
} from '../../token/sessions/session.sql.js';
import { jsonOf } from '../../user/claims.js';
import { HOLD_CLAIMS, INSERT_USER, selectUser, UPDATE_USER } from '../../user/user.sql.js';
import { SignInWriter, type SignIn, type Written } from './sign-in.store.js';

// After the user's row is locked, so that concurrent sign-ins cannot exceed the bounds.
const HAS_MOST_SESSIONS = selectUser('$1', hasMostSessions('$1'));
const IS_DEVICE_BEYOND = selectUser('$1', isDeviceBeyond('$1', '$2'));
const FACTS = selectDeviceFacts('$1', '$2');

/** Writes a sign-in on Citus, in one transaction of several statements (see appendInSteps). It uses tables of several modules. */
export class StepwiseSignIns extends SignInWriter {
  constructor(
    private readonly dataSource: DataSource,
    private readonly settings: Settings,
  ) {
    super();
  }

  write(signIn: SignIn): Promise<Written> {
    return this.dataSource.transaction((manager) => this.writeIn(manager, signIn));
  }

  private async writeIn(manager: EntityManager, signIn: SignIn): Promise<Written> {
    const { session, accessToken } = signIn;
    const { userId, sessionId, deviceId } = session;
    if (!(await writeUser(manager, signIn))) return 'claims';
    const has = async (...query: [string, unknown[]]): Promise<boolean> =>
      (await manager.query<unknown[]>(...query)).length > 0;
    if (await has(HAS_MOST_SESSIONS, [userId])) return 'session';
    if (deviceId !== null && (await has(IS_DEVICE_BEYOND, [userId, deviceId]))) return 'device';
    if (deviceId !== null) {
      await manager.query(UPSERT_DEVICE, [userId, deviceId, signIn.deviceName, signIn.userAgent]);
    }
    await manager.query(INSERT_REFRESH_TOKEN, [
      userId,
      sessionId,
      deviceId,
      signIn.refreshTokenHash,
      signIn.refreshTokenTtl,
      signIn.jkt,
      signIn.providerSubject,
      signIn.providerSession,
      signIn.idToken,
    ]);
    const { jti, expiresAt, token } = accessToken;
    await manager.query(INSERT_ACCESS_TOKEN, [userId, sessionId, jti, expiresAt, token]);
    if (deviceId === null) return undefined;
    const [facts] = await manager.query<{ data: string }[]>(FACTS, [userId, deviceId]);
    const { data } = facts!;
    const id = randomUUID();
    const event = { userId, id, event: 'device.signed_in', data, deviceId: null, ttl: OWN_EVENTS_TTL };
    return { id, data, ...(await appendInSteps(manager, event, this.settings.channelHistory)) };
  }
}

/** Writes and locks the user. @returns false if the user has other claims than the token */
async function writeUser(
  manager: EntityManager,
  { session: { userId }, provider, identity, claims }: SignIn,
): Promise<boolean> {
  const { providerUserId, username, email, avatarUrl } = identity;
  const [held] = await manager.query<{ version: number }[]>(HOLD_CLAIMS, [userId]);
  if (!held) {
    if (jsonOf(claims.application) !== null) return false; // of a removed user (upsertUsers)
    const profile = [userId, provider, providerUserId, username, email, avatarUrl];
    const values = [...profile, jsonOf(claims.provider), jsonOf(claims.effective), claims.version];
    return (await manager.query<unknown[]>(INSERT_USER, values)).length > 0;
  }
  if (held.version !== claims.version) return false;
  await manager.query(UPDATE_USER, [userId, username, email, avatarUrl]);
  return true;
}
