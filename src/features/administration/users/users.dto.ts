import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { DeviceView } from '../../../device/devices.dto.js';
import { CursorDto } from '../../../platform/http/parameters/cursor.js';
import {
  AnyObject,
  KnownOnly,
  OptionalAnyObject,
  OptionalText,
  RequiredBoolean,
  RequiredText,
} from '../../../platform/http/parameters/parameter.js';
import { A_UUID, UuidPipe } from '../../../platform/http/parameters/uuid.js';
import { Me } from '../../../user/me.dto.js';
import { SEARCH_CURSOR } from '../../../user/search/search-cursor.js';
import type { UserFilter } from '../../../user/search/user-search.js';
import type { UserClaims } from '../../../identity/claims.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { SessionView } from '../../../token/sessions/sessions.dto.js';

export const userIdPipe = new UuidPipe(() => new OAuthError('invalid_request', 'user_id must be a UUID'));

/** @param mergedInto the user whom a former user is part of now */
export function noSuchUser(mergedInto?: string): OAuthError {
  return new OAuthError('not_found', 'there is no such user, device or session', {
    ...(mergedInto !== undefined && { members: { merged_into: mergedInto } }),
  });
}

/** Query of GET /users. Each parameter that is given restricts the result. */
@KnownOnly()
export class UsersDto {
  /**
   * Beginnings of words of the name or of the part of the address before `@`, in any case and order; with `@`
   * also the beginning of an address; or a whole `user_id`.
   */
  @OptionalText({ max: 255 })
  q?: string;

  /** E-mail address, in any case. */
  @OptionalText({ max: 255 })
  email?: string;

  @OptionalText({ max: 63 })
  provider?: string;

  /** Id of the user at the provider, byte for byte; only with `provider`. */
  @OptionalText({ max: 255, mayBeBlank: true })
  provider_user_id?: string;

  /** One of the effective `roles`. */
  @OptionalText({ max: 255 })
  role?: string;

  @OptionalText({ matches: { pattern: /^(?:true|false)$/, as: 'true or false' } })
  suspended?: string;

  /** What the directory of the provider says of the user (docs/directory.md). */
  @OptionalText({ matches: { pattern: /^(?:active|inactive|none)$/, as: 'active, inactive or none' } })
  directory?: string;

  /** Users on a page, 200 at most; default 50. */
  @OptionalText({ matches: { pattern: /^(?:[1-9]\d?|1\d\d|200)$/, as: 'a whole number from 1 to 200' } })
  limit?: string;

  /** `next_cursor` of the page before; left out: the first page. */
  @OptionalText({ matches: { pattern: SEARCH_CURSOR, as: 'the next_cursor of an answer' } })
  cursor?: string;
}

/** Body of POST /users: who the user is at the provider. */
export class NewUserDto {
  /** Name of a configured provider. */
  @RequiredText({ max: 63 })
  provider!: string;

  /** Id of the user at the provider, byte for byte as the provider will send it. */
  @RequiredText({ max: 255, mayBeBlank: true })
  provider_user_id!: string;

  /** Until the first sign-in, which replaces it. */
  @OptionalText({ max: 255 })
  username?: string;

  /** Until the first sign-in, which replaces it. */
  @OptionalText({ max: 255 })
  email?: string;

  /** Claims of the application, as PUT /users/:user_id/claims takes them. */
  @OptionalAnyObject()
  claims?: Record<string, unknown>;
}

/** Body of PATCH /users/:user_id. */
export class SuspensionDto {
  /** `true` ends all sessions, and the user cannot sign in until it is `false`. */
  @RequiredBoolean()
  suspended!: boolean;
}

declare module '../../../user/user-lifecycle.js' {
  interface UserStates {
    /** `UserView.directory`; absent: null. */
    readonly directory?: { readonly active: boolean; readonly changed_at: Date };
  }
}

/** What the directory of a provider says of a user. */
export class DirectoryState {
  /** Whether it lets the user in. */
  active!: boolean;

  /** When the directory has changed the user; in JSON RFC 3339, UTC, with milliseconds. */
  changed_at!: Date;
}

/** A user. */
export class UserView extends Me {
  /** Name of the provider, which need not be configured any more. */
  provider!: string;

  /** Id of the user at the provider. */
  provider_user_id!: string;

  /** When the user was suspended; null: not suspended. In JSON RFC 3339, UTC, with milliseconds. */
  suspended_at!: Date | null;

  /** Null: the directory of the provider does not know the user, or the provider has none. */
  directory!: DirectoryState | null;

  /**
   * The last use of a session, to the minute; null before the first sign-in. In JSON RFC 3339, UTC, with
   * milliseconds.
   */
  last_seen_at!: Date | null;

  /** Whether the user has an open socket on some instance; advisory. */
  online!: boolean;

  /** Sessions that are neither signed out nor expired; in a list at most 1,000 are counted. */
  live_sessions!: number;
}

/** Users, a page. */
export class UserList {
  /** Newest first; with `q` or `email` in the order of what is searched. */
  users!: UserView[];

  /** For the next page; left out on the last one. */
  next_cursor?: string;
}

/** Query of GET /users/removed. */
@KnownOnly()
export class RemovedUsersDto extends CursorDto {}

/** A removed user who cannot sign in. Nothing else is known of them. */
export class RemovedUserView {
  user_id!: string;

  /** In JSON RFC 3339, UTC, with milliseconds. */
  removed_at!: Date;
}

/** Removed users who cannot sign in, a page. */
export class RemovedUserList {
  /** Latest removal first, 100 at most. */
  users!: RemovedUserView[];

  /** For the next page; left out on the last one. */
  next_cursor?: string;
}

/** A user with devices and sessions. */
export class UserDetail extends UserView {
  /** Newest use first; 100 at most, more by GET /users/:user_id/devices. */
  devices!: DeviceView[];

  /** Live ones, newest use first; 100 at most, more by GET /users/:user_id/sessions. */
  sessions!: SessionView[];
}

/** Body of POST /users/:user_id/sign-out; may be left out. */
export class UserSignOutDto {
  /** Only this device of the user. */
  @OptionalText(A_UUID)
  device_id?: string;

  /** Only this session of the user. */
  @OptionalText(A_UUID)
  session_id?: string;
}

/** Body of POST /users/sign-out: the identity at the provider, or an e-mail address that one user has. */
export class FoundUserDto {
  /** Name of the provider, which need not be configured any more. */
  @OptionalText({ max: 63, matches: { pattern: /\S/, as: 'the name of a provider' } })
  provider?: string;

  /** Compared byte for byte. */
  @OptionalText({ max: 255, matches: { pattern: /[^]/, as: 'text of at most 255 characters' } })
  provider_user_id?: string;

  /** In any case. */
  @OptionalText({ max: 255, matches: { pattern: /\S/, as: 'an e-mail address' } })
  email?: string;
}

/** What a sign-out did. */
export class UserSignedOut {
  /** Number of sessions that have ended. */
  sessions!: number;
}

/** Body of PUT /users/:user_id/claims. */
export class SetClaimsDto {
  /**
   * All claims of the application, by name; with those of the provider 100 names of 64 characters, 4 KiB of
   * JSON, at most.
   */
  @AnyObject()
  claims!: Record<string, unknown>;
}

/** Claims of a user. */
export class ClaimsOfUser {
  /** Claims that the application has set. */
  claims!: Record<string, unknown>;

  /** Claims from the provider, as of the last sign-in. */
  provider_claims!: Record<string, unknown>;

  /**
   * Claims that tokens carry: `roles`, `groups` and `entitlements` of both; else the value of the
   * application.
   */
  effective!: Record<string, unknown>;
}

export function toClaimsOfUser({ application, provider, effective }: UserClaims): ClaimsOfUser {
  return { claims: application, provider_claims: provider, effective };
}

const DIRECTORY: ReadonlyMap<string, boolean | null> = new Map([
  ['active', true],
  ['inactive', false],
  ['none', null],
] as const);

/** @throws OAuthError `invalid_request` for an id at the provider without the provider */
export function toFilter(query: UsersDto): UserFilter {
  const { provider, provider_user_id: id, suspended } = query;
  const directory = DIRECTORY.get(query.directory ?? '');
  if (id !== undefined && (id === '' || !provider)) {
    throw new OAuthError('invalid_request', 'provider_user_id needs provider, and must not be empty');
  }
  return {
    ...(id !== undefined && provider && { userId: deriveUserId(provider, id) }),
    prefix: query.q?.trim() || undefined,
    email: query.email?.trim() || undefined,
    role: query.role || undefined,
    suspended: suspended === undefined ? undefined : suspended === 'true',
    state: directory === undefined ? undefined : { name: 'directory', value: directory },
    provider: provider || undefined,
  };
}
