import type { DynamicModule, Type } from '@nestjs/common';
import type { Work } from './platform/background.js';
import type { Settings } from './platform/config/settings/settings.js';

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
  /** Known also while the feature is off: instances with other settings may share the database. */
  readonly entities?: readonly Type[];
  /** Repeated work, by name (platform/background.ts). */
  readonly work?: Readonly<Record<string, Work>>;
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
export { UserLifecycle, type ClaimedUser } from './user/user-lifecycle.js';
