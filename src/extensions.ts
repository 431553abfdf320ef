import type { DynamicModule, Type } from '@nestjs/common';
import type { RequestHandler } from 'express';
import type { MigrationInterface } from 'typeorm';
import type { Work } from './platform/background.js';
import type { Settings } from './platform/config/settings/settings.js';

/** Command of the command line: `latchkey <name> …`. */
export interface Command {
  readonly about: string;
  /** Of a command that takes no arguments. */
  readonly usage?: string;
  /** @returns the exit code */
  run(argv: readonly string[]): Promise<number>;
}

/**
 * Optional part of the service: a folder of `features/`, which nothing else imports, and a line in
 * `features.ts`. Its providers take part in what others do by three decorators: `SignInStep`, `TokenGrant`
 * and `UserLifecycle`.
 */
export interface Feature {
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
  /** Reads the addresses of requests before the router, the log and the limits see them. */
  middleware?(): Promise<RequestHandler>;
  /** By name. */
  readonly commands?: Readonly<Record<string, Command>>;
  /**
   * Reads files that settings name, before anything is started.
   * @throws InvalidSettings
   */
  check?(settings: Settings): Promise<void>;
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
export { TokenGrant } from './auth/extensions/token-grants.js';
export { UserLifecycle, type ClaimedUser, type UserQuery, type UserStates } from './user/user-lifecycle.js';
