import { Injectable } from '@nestjs/common';
import { DataSource, In, type EntityManager } from 'typeorm';
import { UserLifecycle, type DeviceKey, type DeviceStates } from '../../../extensions.js';
import { isOfProgram } from '../../../platform/http/parameters/uuid.js';
import { hasSessionOf, type SessionKey } from '../../../token/sessions/session.store.js';
import { AgentDevice } from './agent-device.entity.js';

declare module '../../../user/user-lifecycle.js' {
  interface DeviceStates {
    /** `DeviceView.agent`. */
    readonly agent?: {
      readonly client_id: string;
      readonly client_name: string;
      readonly resource: string;
      readonly scope: string;
      readonly allowed_at: Date;
    };
  }
}

/** Rows of one reading. */
const PAGE = 1000;

/** What the programs of a user are, by device. */
@Injectable()
@UserLifecycle()
export class AgentDevices implements UserLifecycle {
  constructor(private readonly dataSource: DataSource) {}

  /** Reads the table only for devices with ids of programs. */
  async describeDevices(
    userId: string,
    deviceIds: readonly string[],
  ): Promise<ReadonlyMap<string, DeviceStates>> {
    const ofPrograms = deviceIds.filter(isOfProgram);
    if (ofPrograms.length === 0) return new Map();
    const found = await this.dataSource.manager.findBy(AgentDevice, { userId, deviceId: In(ofPrograms) });
    return new Map(
      found.map(({ deviceId, clientId, clientName, resource, scope, allowedAt }) => [
        deviceId,
        {
          agent: { client_id: clientId, client_name: clientName, resource, scope, allowed_at: allowedAt },
        },
      ]),
    );
  }

  /**
   * Finds the program of a session; null for a session that another one of its device has replaced.
   * @param deviceId of a session without a device, null
   */
  findOfSession({ userId, sessionId }: SessionKey, deviceId: string | null): Promise<AgentDevice | null> {
    if (deviceId === null) return Promise.resolve(null);
    return this.dataSource.manager.findOneBy(AgentDevice, { userId, deviceId, sessionId });
  }

  /** Stores a program with its new session, for a user whom the caller has locked. @returns the one before */
  async replace(manager: EntityManager, device: AgentDevice): Promise<AgentDevice | null> {
    const { userId, deviceId } = device;
    const before = await manager.findOneBy(AgentDevice, { userId, deviceId });
    await manager.upsert(AgentDevice, device, ['userId', 'deviceId']);
    return before;
  }

  /** Finds which programs have live sessions, with what at which API; each combination once. */
  findLiveKinds(): Promise<Pick<AgentDevice, 'clientId' | 'resource' | 'scope'>[]> {
    return this.dataSource.manager
      .createQueryBuilder(AgentDevice, 'agent_devices')
      .select(['client_id AS "clientId"', 'resource', 'scope'])
      .distinct()
      .where(`ends_at > now() AND ${hasSessionOf('agent_devices')}`)
      .getRawMany();
  }

  /** Finds some programs with live sessions. @param kind `resource`, `scope` absent: any */
  findLive(
    { clientId, resource, scope }: { clientId: string; resource?: string | undefined; scope?: string },
    most = PAGE,
  ): Promise<AgentDevice[]> {
    const where = {
      clientId,
      ...(resource !== undefined && { resource }),
      ...(scope !== undefined && { scope }),
    };
    return this.dataSource.manager
      .createQueryBuilder(AgentDevice, 'agent_devices')
      .where(where)
      .andWhere(`ends_at > now() AND ${hasSessionOf('agent_devices')}`)
      .limit(most)
      .getMany();
  }

  async deviceRemoved(manager: EntityManager, { userId, deviceId }: DeviceKey): Promise<void> {
    await manager.delete(AgentDevice, { userId, deviceId });
  }
}
