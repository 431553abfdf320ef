import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Events, type SessionIds } from '../events.js';
import { SessionStore } from '../token/sessions/session.store.js';
import { UserStore } from '../user/user.store.js';
import { DeviceStore } from './device.store.js';

const WRITE_EVERY_MS = 5000;
/** Sessions that wait for the next write; a session beyond that is written after its next use. */
const MOST_WAITING = 20_000;

/**
 * Writes the last use of sessions, their devices and users every few seconds, instead of on every request.
 */
@Injectable()
export class LastUseWriter implements OnApplicationShutdown {
  private readonly logger = new Logger(LastUseWriter.name);
  private readonly timer: NodeJS.Timeout;
  private used = new Map<string, SessionIds>();
  private writing = false;

  constructor(
    private readonly sessions: SessionStore,
    private readonly devices: DeviceStore,
    private readonly users: UserStore,
    events: Events,
  ) {
    events.on('session.used', (session) => this.add(session));
    events.on('audit.recorded', (recorded) => {
      for (const { event, user_id: userId, session_id: sessionId, device_id: deviceId = null } of recorded) {
        if (event === 'sign_in' && userId && sessionId) this.add({ userId, sessionId, deviceId });
      }
    });
    this.timer = setInterval(() => {
      // While the database is slow, sessions wait in `used`, up to its bound.
      if (!this.writing) void this.write();
    }, WRITE_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Writes what was used since the last write; if the database is away, it is dropped. Never rejects. */
  async write(): Promise<void> {
    this.writing = true;
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
    if (failure) this.logger.warn({ err: failure, msg: 'the last use of sessions could not be written' });
    this.writing = false;
  }

  private add(session: SessionIds): void {
    if (this.used.size < MOST_WAITING) this.used.set(session.sessionId, session);
  }
}
