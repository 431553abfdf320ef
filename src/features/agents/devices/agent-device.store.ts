import { Injectable } from '@nestjs/common';
import { DataSource, In, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import { UserLifecycle, type DeviceKey, type DeviceStates } from '../../../extensions.js';
import type { SessionIds } from '../../../platform/events.js';
import { isOfProgram } from '../../../platform/http/parameters/uuid.js';
import { hasSessionOf, type SessionKey } from '../../../token/sessions/session.store.js';
import { AgentDevice } from './agent-device.entity.js';

/** Devices of one program; `resources` and `scope` absent: any. */
export interface ProgramKind {
  readonly clientId: string;
  readonly resources?: readonly string[] | undefined;
  readonly scope?: string;
}

/** Live sessions of a program at one API. */
export interface ProgramCount {
  readonly client_id: string;
  readonly client_name: string;
  readonly resource: string;
  readonly sessions: number;
}

/** Rows of one reading. */
const PAGE = 10_000;
/** Programs of a list, each with one API. */
const MOST_LISTED = 500;

/** Condition on a row of `agent_devices`: its session is live. */
const LIVES = `ends_at > now() AND ${hasSessionOf('agent_devices')}`;

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
    return this.query()
      .select(['client_id AS "clientId"', 'resource', 'scope'])
      .distinct()
      .where(LIVES)
      .getRawMany();
  }

  /** Finds a page of the live sessions of a kind. */
  findLive({ clientId, resources, scope }: ProgramKind): Promise<SessionIds[]> {
    const where = {
      clientId,
      ...(resources && { resource: In(resources) }),
      ...(scope !== undefined && { scope }),
    };
    return this.query()
      .select(['user_id AS "userId"', 'session_id AS "sessionId"', 'device_id AS "deviceId"'])
      .where(where)
      .andWhere(LIVES)
      .limit(PAGE)
      .getRawMany<SessionIds>();
  }

  /** Counts live sessions by program and API, most sessions first. */
  countLive(): Promise<ProgramCount[]> {
    return this.query()
      .select(['client_id', 'max(client_name) AS client_name', 'resource', 'count(*)::int AS sessions'])
      .where(LIVES)
      .groupBy('client_id')
      .addGroupBy('resource')
      .orderBy('sessions', 'DESC')
      .addOrderBy('client_id')
      .addOrderBy('resource')
      .limit(MOST_LISTED)
      .getRawMany<ProgramCount>();
  }

  async deviceRemoved(manager: EntityManager, { userId, deviceId }: DeviceKey): Promise<void> {
    await manager.delete(AgentDevice, { userId, deviceId });
  }

  private query(): SelectQueryBuilder<AgentDevice> {
    return this.dataSource.manager.createQueryBuilder(AgentDevice, 'agent_devices');
  }
}
