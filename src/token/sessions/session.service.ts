import { Injectable } from '@nestjs/common';
import { PresenceStore } from '../../channel/presence.store.js';
import { answer } from '../../http/answer.js';
import { browserOf } from '../../http/user-agent.js';
import { SessionStore } from './session.store.js';
import { SessionView, type SessionList } from './sessions.dto.js';

/** Live sessions of one user. */
@Injectable()
export class SessionService {
  constructor(
    private readonly sessions: SessionStore,
    private readonly presence: PresenceStore,
  ) {}

  /** Returns a page, newest use first. @param cursor `next_cursor` of the previous page */
  async list(
    { user_id: userId, provider }: { readonly user_id: string; readonly provider: string },
    cursor?: string,
  ): Promise<SessionList> {
    const [{ page, next }, onlineDevices] = await Promise.all([
      this.sessions.findPage(userId, cursor),
      this.presence.onlineDevices(userId),
    ]);
    const sessions = page.map((row) => {
      const online = onlineDevices.has(row.device_id);
      return answer(SessionView, { ...row, provider, online, ...browserOf(row.user_agent) });
    });
    return { sessions, ...next };
  }
}
