import { randomUUID } from 'node:crypto';
import type { DataSource, EntityManager } from 'typeorm';
import type { AuditStore } from '../../audit/audit.store.js';
import { appendInSteps } from '../../channel/channel.history.citus.js';
import { OWN_EVENTS_TTL } from '../../channel/append.sql.js';
import type { Settings } from '../../config/settings/settings.js';
import { isDeviceBeyond, SELECT_FACTS, UPSERT_DEVICE } from '../../device/device.sql.js';
import {
  hasMostSessions,
  INSERT_ACCESS_TOKEN,
  INSERT_REFRESH_TOKEN,
} from '../../token/sessions/session.sql.js';
import { toJson } from '../../identity/claims.js';
import { HOLD_CLAIMS, INSERT_USER, selectUser, UPDATE_USER } from '../../user/user.sql.js';
import { auditOf, keyOf, SignInWriter, type SignIn, type Written } from './sign-in.store.js';

// After the user's row is locked, so that concurrent sign-ins cannot exceed the bounds.
const HAS_MOST_SESSIONS = selectUser('$1', hasMostSessions('$1'));
const IS_DEVICE_BEYOND = selectUser('$1', isDeviceBeyond('$1', '$2'));

/** Writes a sign-in on Citus, in one transaction of several statements (see appendInSteps). It uses tables of several modules. */
export class StepwiseSignIns extends SignInWriter {
  constructor(
    private readonly dataSource: DataSource,
    private readonly settings: Pick<Settings, 'channelHistory'>,
    private readonly audit: Pick<AuditStore, 'write'>,
  ) {
    super();
  }

  write(signIn: SignIn): Promise<Written> {
    return this.dataSource.transaction((manager) => this.writeIn(manager, signIn));
  }

  private async writeIn(manager: EntityManager, signIn: SignIn): Promise<Written> {
    const { session, accessToken } = signIn;
    const { userId, sessionId, deviceId } = session;
    const refused = await writeUser(manager, signIn);
    if (refused) return refused;
    const has = async (...query: [string, unknown[]]): Promise<boolean> =>
      (await manager.query<unknown[]>(...query)).length > 0;
    if (await has(HAS_MOST_SESSIONS, [userId])) return 'session';
    if (deviceId !== null && (await has(IS_DEVICE_BEYOND, [userId, deviceId]))) return 'device';
    if (deviceId !== null) {
      await manager.query(UPSERT_DEVICE, [
        userId,
        deviceId,
        signIn.deviceName,
        signIn.userAgent,
        signIn.origin.address,
      ]);
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
      signIn.identity.authTime,
      signIn.origin.address,
      signIn.userAgent,
    ]);
    const { jti, expiresAt, token } = accessToken;
    await manager.query(INSERT_ACCESS_TOKEN, [userId, sessionId, jti, expiresAt, token]);
    await this.audit.write(manager, [auditOf(signIn)]);
    if (deviceId === null) return undefined;
    const [facts] = await manager.query<{ data: string }[]>(SELECT_FACTS, [userId, deviceId]);
    const { data } = facts!;
    const id = randomUUID();
    const event = { userId, id, event: 'device.signed_in', data, deviceId: null, ttl: OWN_EVENTS_TTL };
    return { id, data, ...(await appendInSteps(manager, event, this.settings.channelHistory)) };
  }
}

/** Writes and locks the user. @returns why nothing was written, see Refused */
async function writeUser(
  manager: EntityManager,
  { session: { userId }, provider, identity, claims }: SignIn,
): Promise<'suspended' | 'claims' | undefined> {
  const { providerUserId, username, email, avatarUrl } = identity;
  const keys = [keyOf(username), keyOf(email)];
  const [held] = await manager.query<{ version: number; suspended: boolean }[]>(HOLD_CLAIMS, [userId]);
  if (!held) {
    if (toJson(claims.application) !== null) return 'claims'; // of a removed user (upsertUsers)
    const profile = [userId, provider, providerUserId, username, email, avatarUrl, ...keys];
    const values = [...profile, toJson(claims.provider), toJson(claims.effective), claims.version];
    return (await manager.query<unknown[]>(INSERT_USER, values)).length > 0 ? undefined : 'claims';
  }
  if (held.suspended) return 'suspended';
  if (held.version !== claims.version) return 'claims';
  await manager.query(UPDATE_USER, [userId, username, email, avatarUrl, ...keys]);
  return undefined;
}
