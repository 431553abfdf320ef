import { Injectable } from '@nestjs/common';
import type { Origin } from '../audit/audit-event.js';
import { AuditStore } from '../audit/audit.store.js';
import { ChannelHistory } from '../channel/channel.history.js';
import { PresenceStore } from '../channel/presence.store.js';
import { Sql } from '../platform/database/sql.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import type { SessionIds } from '../platform/events.js';
import { answer } from '../platform/http/answer.js';
import { UserLifecycles, type DeviceListStates } from '../user/user-lifecycle.js';
import { browserOf } from '../platform/http/user-agent.js';
import { SessionStore } from '../token/sessions/session.store.js';
import { lockUser } from '../user/lock-user.js';
import { DeviceStore, type DeviceRow } from './device.store.js';
import { DeviceView, type DeviceList } from './devices.dto.js';
import { byOther, SignOutService, toDeviceFacts } from './sign-out.service.js';

/** Devices of one user. A device of another user counts as unknown. */
@Injectable()
export class DeviceService {
  constructor(
    private readonly devices: DeviceStore,
    private readonly sessions: SessionStore,
    private readonly presence: PresenceStore,
    private readonly history: ChannelHistory,
    private readonly signOuts: SignOutService,
    private readonly sql: Sql,
    private readonly audit: AuditStore,
    private readonly lifecycles: UserLifecycles,
  ) {}

  /** Returns a page, newest use first. @param cursor `next_cursor` of the previous page */
  async list(userId: string, cursor?: string): Promise<DeviceList> {
    const { page, next } = await this.devices.findPage(userId, cursor);
    return { devices: await this.toViews(userId, page), ...next };
  }

  /** Returns what features say beside the list. */
  describeList(userId: string): Promise<DeviceListStates> {
    return this.lifecycles.describeDeviceList(userId);
  }

  /** Returns some devices in the order of their ids, behind one; none: there are no more. */
  async listBehind(userId: string, deviceId?: string): Promise<DeviceView[]> {
    return this.toViews(userId, await this.devices.findBehind(userId, deviceId));
  }

  /** @throws OAuthError `not_found` */
  async rename(userId: string, deviceId: string, deviceName: string, origin: Origin): Promise<DeviceView> {
    const renamed = await this.history.transactionOf(userId, async ({ manager, append }) => {
      const provider = await lockUser(manager, userId);
      const device = await this.devices.rename(manager, { userId, deviceId }, deviceName);
      if (!device) throw noSuchDevice();
      await append('device.renamed', [[userId, toDeviceFacts(device)]]);
      await this.audit.write(manager, [{ event: 'device_renamed', userId, deviceId, provider, origin }]);
      return device;
    });
    const [view] = await this.toViews(userId, [renamed]); // afterwards: it needs further connections
    return view!;
  }

  /**
   * Signs the device out and deletes it. The sign-out locks the user first: a concurrent sign-in waits, then
   * inserts the device anew.
   * @throws OAuthError `not_found`
   */
  async remove({ userId, sessionId }: SessionIds, deviceId: string, origin: Origin): Promise<void> {
    const key = { userId, deviceId };
    let isThere = await this.devices.exists(key);
    if (isThere) {
      await this.signOuts.signOut('device', { userId, sessionId, deviceId }, origin, {
        last: async ({ manager }, provider) => {
          isThere = await this.devices.remove(manager, key, true);
          const reason = byOther(origin, key);
          const event = { event: 'device_removed', userId, deviceId, provider, reason, origin } as const;
          if (isThere) await this.audit.write(manager, [event]);
        },
      });
    } else await this.sql.confirmRead(); // it may have been removed before
    if (!isThere) throw noSuchDevice();
  }

  private async toViews(userId: string, devices: readonly DeviceRow[]): Promise<DeviceView[]> {
    const among = devices.map(({ device_id: id }) => id);
    const live = await this.sessions.findLiveDevices(userId, { among });
    const online = await this.presence.onlineDevices(userId);
    const described = await this.lifecycles.describeDevices(userId, among);
    return devices.map((device) => {
      const state = { signed_in: live.has(device.device_id), online: online.has(device.device_id) };
      const more = described.get(device.device_id);
      return answer(DeviceView, { ...device, ...browserOf(device.user_agent), ...state, ...more });
    });
  }
}

export function noSuchDevice(): OAuthError {
  return new OAuthError('not_found', 'there is no such device');
}
