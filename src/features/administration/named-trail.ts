import { Injectable } from '@nestjs/common';
import type { AuditEvent } from '../../audit/audit-event.js';
import { AuditSearch } from '../../audit/search/audit-search.js';
import type { AuditDto } from '../../audit/search/audit.dto.js';
import { DeviceStore } from '../../device/device.store.js';
import { UUID } from '../../platform/http/parameters/uuid.js';
import { browserOf } from '../../platform/http/user-agent.js';
import { UserStore } from '../../user/user.store.js';
import type { NamedEvent, NamedEvents } from './trail.dto.js';

type Names = ReadonlyMap<string, string | undefined>;

/** The audit trail with names: it has ids only, so that a removed user leaves none there. */
@Injectable()
export class NamedTrail {
  constructor(
    private readonly search: AuditSearch,
    private readonly users: UserStore,
    private readonly devices: DeviceStore,
  ) {}

  /** Returns a page of events. The names of all its users are one statement, names of 100 devices another. */
  async find(query: AuditDto): Promise<NamedEvents> {
    const { events, next_cursor } = await this.search.find(query);
    const [users, devices] = await Promise.all([this.namesOfUsers(events), this.namesOfDevices(events)]);
    return { events: events.map((event) => named(event, users, devices)), next_cursor };
  }

  private namesOfUsers(events: readonly AuditEvent[]): Promise<Names> {
    const ids = events.flatMap((event) => [event.user_id, actorOf(event), endedBy(event).user]);
    return this.users.findNames([...new Set(ids.filter((id) => id !== undefined))]);
  }

  private async namesOfDevices(events: readonly AuditEvent[]): Promise<Names> {
    const keys = new Map<string, { userId: string; deviceId: string }>();
    for (const event of events) {
      const { user_id: userId } = event;
      for (const deviceId of [event.device_id, endedBy(event).device])
        if (userId && deviceId) keys.set(keyOf(userId, deviceId), { userId, deviceId });
    }
    const devices = await this.devices.findNames([...keys.values()]);
    return new Map(devices.map(({ userId, deviceId, deviceName }) => [keyOf(userId, deviceId), deviceName!]));
  }
}

const keyOf = (userId: string, deviceId: string): string => `${userId} ${deviceId}`;

/** Returns the id of the user who caused an event, if it is another than the event's. */
function actorOf({ actor: { type, name }, user_id }: AuditEvent): string | undefined {
  return type === 'user' && name !== user_id && UUID.test(name ?? '') ? name : undefined;
}

/** Events with a `reason` that may say who has ended the session (docs/audit.md#the-audit-trail). */
const ENDS: readonly string[] = ['sign_out', 'device_removed', 'refresh_refused'];
const ENDED_BY = /^(?:ended )?by (device|user) ([\da-f-]{36})(?: |$)/;

function endedBy({ event, reason = '' }: AuditEvent): { readonly device?: string; readonly user?: string } {
  const [, kind = '', id = ''] = (ENDS.includes(event) && ENDED_BY.exec(reason)) || [];
  return UUID.test(id) ? { [kind]: id } : {};
}

function named(event: AuditEvent, users: Names, devices: Names): NamedEvent {
  const { user_id = '', device_id = '', user_agent } = event;
  const ended = endedBy(event);
  const { browser, os } = browserOf(user_agent ?? null);
  return Object.assign(event, {
    user_name: users.get(user_id),
    no_user: (user_id !== '' && !users.has(user_id)) || undefined,
    actor_user_name: users.get(actorOf(event) ?? ''),
    ended_by_name: users.get(ended.user ?? '') ?? devices.get(keyOf(user_id, ended.device ?? '')),
    device_name: devices.get(keyOf(user_id, device_id)),
    browser: browser ?? undefined,
    os: os ?? undefined,
  });
}
