import { Injectable } from '@nestjs/common';
import { DataSource, IsNull, Not, type EntityManager } from 'typeorm';
import { UserLifecycle, type DeviceKey, type DeviceListStates } from '../../../extensions.js';
import { AgentDevice } from '../devices/agent-device.entity.js';

/** Programs of a list, each with one API. */
const MOST_REFUSED = 100;

/** Programs that a provider allows, and that must stay away since a person has ended them. */
@Injectable()
@UserLifecycle()
export class RefusedPrograms implements UserLifecycle {
  constructor(private readonly dataSource: DataSource) {}

  /** Finds those of a user, the latest end first. */
  async find(userId: string) {
    const found = await this.dataSource.manager.find(AgentDevice, {
      where: { userId, refusedAt: Not(IsNull()) },
      order: { refusedAt: 'DESC', deviceId: 'ASC' },
      take: MOST_REFUSED,
    });
    return found.map(({ deviceId, clientId, clientName, resource, refusedAt }) => {
      const program = { device_id: deviceId, client_id: clientId, client_name: clientName };
      return { ...program, resource, refused_at: refusedAt! };
    });
  }

  /** So a page asks for the programs only if there are any: their devices may be removed. */
  async describeDeviceList(userId: string): Promise<DeviceListStates> {
    const has = await this.dataSource.manager.existsBy(AgentDevice, { userId, refusedAt: Not(IsNull()) });
    return has ? { has_refused_programs: true } : {};
  }

  /** @returns false if the program need not stay away */
  async allowAgain(manager: EntityManager, { userId, deviceId }: DeviceKey): Promise<boolean> {
    const refused = { userId, deviceId, refusedAt: Not(IsNull()) };
    return (await manager.update(AgentDevice, refused, { refusedAt: null })).affected === 1;
  }
}
