import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { decorated } from '../platform/decorated.js';
import { User } from './user.entity.js';

/** User with claims of several sources. */
export type ClaimedUser = Pick<User, 'userId' | 'provider'>;

/**
 * What features say of a user beside the core. Each feature declares the members that it writes or reads
 * (declaration merging), as in `IdentityFacts`.
 */
export interface UserStates {}

/** Search for users, whose alias is `user`. */
export type UserQuery = SelectQueryBuilder<User>;

export interface DeviceKey {
  readonly userId: string;
  readonly deviceId: string;
}

/** What features say of a device of a user. Each feature declares its members, as in UserStates. */
export interface DeviceStates {}

/**
 * What features say of all devices of a user together. Each feature declares its members, as in UserStates.
 */
export interface DeviceListStates {}

/** How sessions of a user have ended. */
export interface SessionsEnd {
  /** Their devices. */
  readonly deviceIds: readonly string[];
  /** The user has ended them, or the support: no rule, and no client by its token. */
  readonly isByPerson: boolean;
}

/** Right of a service key that a user can have. */
export type UserRight = 'users' | 'support';

/**
 * What a feature does with a user, in the transaction of the change, and what it grants: a provider with the
 * decorator of the same name.
 */
export interface UserLifecycle {
  /** Sessions of the user have ended. */
  sessionsEnded?(manager: EntityManager, userId: string, end: SessionsEnd): Promise<void>;
  /**
   * The user is being removed, or was removed and may sign in again.
   * @returns true: sign-ins of a removed user must stay refused
   */
  removed?(manager: EntityManager, userId: string): Promise<boolean | void>;
  /** @returns what the feature says of some devices of the user, by device */
  describeDevices?(userId: string, deviceIds: readonly string[]): Promise<ReadonlyMap<string, DeviceStates>>;
  /** @returns what the feature says beside the list of the user's devices */
  describeDeviceList?(userId: string): Promise<DeviceListStates>;
  /** A device of the user is removed. @param isByPerson absent: it was one too many */
  deviceRemoved?(manager: EntityManager, device: DeviceKey, isByPerson?: boolean): Promise<void>;
  /** An operator lets the user sign in. @returns true: the feature had refused that */
  permitted?(manager: EntityManager, userId: string): Promise<boolean>;
  /** @returns names of the user's claims that are not the provider's: a change there does not show */
  ownClaims?(manager: EntityManager, user: ClaimedUser): Promise<readonly string[]>;
  /**
   * With each request of a user to a route for service keys.
   * @param sessionId absent: of any session
   * @returns the right of the user; null: none
   */
  right?(userId: string, sessionId?: string): Promise<UserRight | null>;
  /** @returns what the feature says of users, by user */
  describe?(users: readonly ClaimedUser[]): Promise<ReadonlyMap<string, UserStates>>;
  /**
   * Restricts a search to users with a state.
   * @param value null: users of whom the feature says nothing
   * @returns an alias with `createdAt` and `userId` of each user found, by which an index finds the newest:
   *   `user`, or a table that is joined; undefined for a state of another feature
   */
  restrict?(query: UserQuery, state: keyof UserStates, value: boolean | null): string | undefined;
}

export const UserLifecycle = DiscoveryService.createDecorator<void>();

@Injectable()
export class UserLifecycles implements OnModuleInit {
  private all: readonly UserLifecycle[] = [];

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    this.all = decorated<void, UserLifecycle>(this.discovery, UserLifecycle).map(({ instance }) => instance);
  }

  async sessionsEnded(manager: EntityManager, userId: string, end: SessionsEnd): Promise<void> {
    for (const one of this.all) await one.sessionsEnded?.(manager, userId, end);
  }

  /** @returns whether sign-ins must stay refused */
  async removed(manager: EntityManager, userId: string): Promise<boolean> {
    let staysRefused = false;
    for (const one of this.all) if (await one.removed?.(manager, userId)) staysRefused = true;
    return staysRefused;
  }

  async describeDevices(
    userId: string,
    deviceIds: readonly string[],
  ): Promise<ReadonlyMap<string, DeviceStates>> {
    const states = new Map<string, DeviceStates>();
    for (const one of this.all) {
      for (const [deviceId, state] of (await one.describeDevices?.(userId, deviceIds)) ?? []) {
        states.set(deviceId, { ...states.get(deviceId), ...state });
      }
    }
    return states;
  }

  async describeDeviceList(userId: string): Promise<DeviceListStates> {
    const states: DeviceListStates = {};
    for (const one of this.all) Object.assign(states, await one.describeDeviceList?.(userId));
    return states;
  }

  async deviceRemoved(manager: EntityManager, device: DeviceKey, isByPerson?: boolean): Promise<void> {
    for (const one of this.all) await one.deviceRemoved?.(manager, device, isByPerson);
  }

  /** @returns whether a feature had refused sign-ins */
  async permitted(manager: EntityManager, userId: string): Promise<boolean> {
    let wasRefused = false;
    for (const one of this.all) if (await one.permitted?.(manager, userId)) wasRefused = true;
    return wasRefused;
  }

  /** @returns names of the user's claims that are not the provider's, but of features */
  async ownClaims(manager: EntityManager, userId: string): Promise<ReadonlySet<string>> {
    const user = await manager.findOneBy(User, { userId });
    if (!user) return new Set();
    const names = new Set(Object.keys(user.identity?.overlay ?? {}));
    for (const one of this.all) {
      for (const name of (await one.ownClaims?.(manager, user)) ?? []) names.add(name);
    }
    return names;
  }

  /** @returns the first right that a feature grants the user */
  async right(userId: string, sessionId?: string): Promise<UserRight | null> {
    for (const one of this.all) {
      const right = await one.right?.(userId, sessionId);
      if (right) return right;
    }
    return null;
  }

  async describe(users: readonly ClaimedUser[]): Promise<ReadonlyMap<string, UserStates>> {
    const states = new Map<string, UserStates>();
    for (const one of this.all) {
      for (const [userId, state] of (await one.describe?.(users)) ?? []) {
        states.set(userId, { ...states.get(userId), ...state });
      }
    }
    return states;
  }

  /**
   * Restricts a search for users as `UserLifecycle.restrict` does. Of a state of no feature, no user is
   * found.
   */
  restrict(query: UserQuery, state: keyof UserStates, value: boolean | null): string {
    for (const one of this.all) {
      const alias = one.restrict?.(query, state, value);
      if (alias !== undefined) return alias;
    }
    if (value !== null) query.andWhere('false');
    return 'user';
  }
}
