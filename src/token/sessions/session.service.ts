import { Injectable } from '@nestjs/common';
import { PresenceStore } from '../../channel/presence.store.js';
import { answer } from '../../platform/http/answer.js';
import { browserOf } from '../../platform/http/user-agent.js';
import { SessionStore, type SessionRow } from './session.store.js';
import { SessionView, type SessionList } from './sessions.dto.js';

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
    return { sessions: page.map((row) => toView(row, provider, onlineDevices)), ...next };
  }

  /** Returns some live sessions in the order of their ids, behind one; none: there are no more. */
  async listBehind(
    { user_id: userId, provider }: { readonly user_id: string; readonly provider: string },
    sessionId?: string,
  ): Promise<SessionView[]> {
    const rows = await this.sessions.findBehind(userId, sessionId);
    const onlineDevices = await this.presence.onlineDevices(userId);
    return rows.map((row) => toView(row, provider, onlineDevices));
  }
}

function toView(row: SessionRow, provider: string, onlineDevices: ReadonlySet<string | null>): SessionView {
  const online = onlineDevices.has(row.device_id);
  return answer(SessionView, { ...row, provider, online, ...browserOf(row.user_agent) });
}
