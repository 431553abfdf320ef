import type { DynamicModule, Type } from '@nestjs/common';
import type { RequestHandler } from 'express';
import type { MigrationInterface } from 'typeorm';
import type { AuditName } from './audit/audit-names.js';
import type { Work } from './platform/background.js';
import type { Settings } from './platform/config/settings/settings.js';
import type { SettingsPart } from './platform/config/settings/settings-part.js';
import type { Gauge } from './platform/declared.js';
import type { OtherLimits } from './platform/http/rate-limit.js';

/**
 * Loads the settings for a command, which generates no key.
 * @throws InvalidSettings
 */
export type LoadSettings = (generatedSecrets: 'existing' | 'none') => Promise<Settings>;

/** Command of the command line: `latchkey <name> …`. */
export interface Command {
  readonly about: string;
  /** Of a command that takes no arguments. */
  readonly usage?: string;
  /** @returns the exit code */
  run(argv: readonly string[], load: LoadSettings): Promise<number>;
}

/**
 * Optional part of the service: a folder of `features/`, which nothing else imports, and a line in
 * `features.ts`. Its providers take part in what others do by three decorators: `SignInStep`, `TokenGrant`
 * and `UserLifecycle`.
 */
export interface Feature extends SettingsPart {
  readonly name: string;
  /** Off: no import, no timer, no statement. */
  isOn(settings: Settings): boolean;
  /** Imports the feature's module. */
  module(settings: Settings): Promise<DynamicModule>;
  /**
   * Imports the entities, which are known also while the feature is off: instances with other settings may
   * share the database.
   */
  entities?(): Promise<Readonly<Record<string, Type>>>;
  /** Imports the migrations of its tables, which run also while the feature is off. */
  migrations?(): Promise<Readonly<Record<string, Type<MigrationInterface>>>>;
  /** Repeated work, by name (platform/background.ts). */
  readonly work?: Readonly<Record<string, Work>>;
  /** Events of the audit trail that it writes; `AuditNames` has them as well. */
  readonly auditNames?: readonly AuditName[];
  /** Beginning, up to `: `, of reasons of `access_denied` that the trail has also of removed users. */
  readonly impersonalReason?: string;
  /** Metrics of what it reports as ServiceState; 0 while it is off. */
  readonly gauges?: readonly Gauge[];
  /** Requests a minute and address, by the name of the limit. */
  readonly limits?: Readonly<Partial<Record<keyof OtherLimits, number>>>;
  /** Whether sessions may end before REFRESH_TOKEN_TTL, while it is on. */
  readonly endsEarly?: true;
  /** Reads the addresses of requests before the router, the log and the limits see them. */
  middleware?(): Promise<RequestHandler>;
  /** By name. */
  readonly commands?: Readonly<Record<string, Command>>;
  /**
   * Reads files that settings name, before anything is started.
   * @returns what to warn of
   * @throws InvalidSettings
   */
  check?(settings: Settings): Promise<readonly string[] | void>;
  /** Whether users have claims of the feature. */
  givesClaims?(settings: Settings): boolean;
  /**
   * What `check-config` warns of.
   * @param givesClaims whether users have claims of a feature
   */
  advise?(settings: Settings, givesClaims: boolean): string | undefined;
  /** Settings, of a provider `name` as well, that turn on what docs/openapi.json describes. */
  readonly documented?: Readonly<Record<string, string>>;
  /** What its page at `/` is for, in a few words. */
  readonly home?: string;
  /** Lines that end a start in development. */
  welcome?(settings: Settings): Promise<readonly string[]>;
}

export { SignInStep } from './auth/extensions/sign-in-steps.js';
export type {
  Candidate,
  Checked,
  IdentityChanges,
  SignedIn,
  Verified,
} from './auth/extensions/sign-in-steps.js';
export { TokenGrant, type GrantCall } from './auth/extensions/token-grants.js';
export {
  UserLifecycle,
  type ClaimedUser,
  type DeviceKey,
  type DeviceListStates,
  type DeviceStates,
  type SessionsEnd,
  type UserQuery,
  type UserStates,
} from './user/user-lifecycle.js';
