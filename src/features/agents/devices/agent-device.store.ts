import { Injectable } from '@nestjs/common';
import { DataSource, In, IsNull, Not, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import { UserLifecycle, type DeviceKey, type DeviceStates, type SessionsEnd } from '../../../extensions.js';
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
      found.map(({ deviceId, clientId, clientName, resource, scope, allowedAt, provider }) => {
        const agent = {
          client_id: clientId,
          client_name: clientName,
          resource,
          scope,
          allowed_at: allowedAt,
        };
        return [deviceId, { agent: { ...agent, ...(provider !== null && { allowed_by: provider }) } }];
      }),
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

  find(manager: EntityManager, { userId, deviceId }: DeviceKey): Promise<AgentDevice | null> {
    return manager.findOneBy(AgentDevice, { userId, deviceId });
  }

  /** Whether the device of a user has a live session. */
  isLive(manager: EntityManager, { userId, deviceId }: DeviceKey): Promise<boolean> {
    const query = manager.createQueryBuilder(AgentDevice, 'agent_devices').where({ userId, deviceId });
    return query.andWhere(LIVES).getExists();
  }

  /** Stores a program with its session, for a user whom the caller has locked. */
  async replace(manager: EntityManager, device: AgentDevice): Promise<void> {
    await manager.upsert(AgentDevice, device, ['userId', 'deviceId']);
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

  /** What a person ends stays away, although its provider allows it. */
  async sessionsEnded(manager: EntityManager, userId: string, end: SessionsEnd): Promise<void> {
    const ofPrograms = end.deviceIds.filter(isOfProgram);
    if (end.isByPerson && ofPrograms.length > 0) await this.refuse(manager, userId, ofPrograms);
  }

  async deviceRemoved(manager: EntityManager, device: DeviceKey, isByPerson = false): Promise<void> {
    const { userId, deviceId } = device;
    if (!isOfProgram(deviceId)) return;
    if (isByPerson) await this.refuse(manager, userId, [deviceId]);
    await manager.delete(AgentDevice, { userId, deviceId, refusedAt: IsNull() });
  }

  private async refuse(manager: EntityManager, userId: string, deviceIds: readonly string[]): Promise<void> {
    const where = { userId, deviceId: In(deviceIds), provider: Not(IsNull()), refusedAt: IsNull() };
    await manager.update(AgentDevice, where, { refusedAt: () => 'now()' });
  }

  private query(): SelectQueryBuilder<AgentDevice> {
    return this.dataSource.manager.createQueryBuilder(AgentDevice, 'agent_devices');
  }
}
