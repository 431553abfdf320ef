import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Background } from '../platform/background.js';
import { Events, type SessionIds } from '../platform/events.js';
import { SessionStore } from '../token/sessions/session.store.js';
import { UserStore } from '../user/user.store.js';
import { DeviceStore } from './device.store.js';

/** Sessions that wait for the next write; a session beyond that is written after its next use. */
const MOST_WAITING = 20_000;

/**
 * Writes the last use of sessions, their devices and users every few seconds, instead of on every request.
 */
@Injectable()
export class LastUseWriter implements OnModuleInit {
  private used = new Map<string, SessionIds>();

  constructor(
    private readonly sessions: SessionStore,
    private readonly devices: DeviceStore,
    private readonly users: UserStore,
    events: Events,
    private readonly background: Background,
  ) {
    events.on('session.used', (session) => this.add(session));
    events.on('audit.recorded', (recorded) => {
      for (const { event, user_id: userId, session_id: sessionId, device_id: deviceId = null } of recorded) {
        if (event === 'sign_in' && userId && sessionId) this.add({ userId, sessionId, deviceId });
      }
    });
  }

  onModuleInit(): void {
    // During a slow write, sessions wait in `used`, up to its bound.
    this.background.repeat('write-last-use', () => this.write());
  }

  /**
   * Writes what was used since the last write; if the database is away, it is dropped.
   * @throws the first error
   */
  async write(): Promise<void> {
    const sessions = [...this.used.values()];
    this.used = new Map();
    const devices = sessions.flatMap(({ userId, deviceId }) =>
      deviceId === null ? [] : { userId, deviceId },
    );
    const userIds = new Set(sessions.map(({ userId }) => userId));
    let failure: unknown;
    // One table after the other, which bounds the connections. A failure keeps no other table from being
    // written.
    for (const write of [
      () => this.sessions.markUsed(sessions),
      () => this.devices.markUsed(devices),
      () => this.users.markUsed([...userIds]),
    ]) {
      await write().catch((error: unknown) => (failure ??= error));
    }
    if (failure !== undefined) throw failure;
  }

  private add(session: SessionIds): void {
    if (this.used.size < MOST_WAITING) this.used.set(session.sessionId, session);
  }
}
