import { OptionalText, RequiredText } from '../../../platform/http/parameters/parameter.js';
import type { JoinedIdentity } from './joined-identities.store.js';

/** Identity by which a user may sign in. */
export class IdentityView {
  /** Name of the provider. */
  provider!: string;

  /** As of the last sign-in by it. */
  username!: string | null;

  email!: string | null;

  /** In JSON RFC 3339, UTC, with milliseconds; null: the user’s own. */
  linked_at!: Date | null;

  /** Whether it is the user’s own: the user id is derived of it. */
  primary!: boolean;
}

/** Identities of a user. */
export class IdentityList {
  /** The user’s own is the first; then by provider. */
  identities!: IdentityView[];

  /** Names of the providers of identities that may be joined besides. */
  joinable!: string[];
}

/** Body of POST /me/identities. */
export class BeginIdentityDto {
  /** Name of the provider of the other identity. */
  @RequiredText()
  provider!: string;

  /** Callback URL after authorization; on the allow-list. */
  @OptionalText()
  redirect_uri?: string;
}

/** Begin of the proof of the other identity. */
export class IdentityAuthorization {
  /** Full URL of the provider’s page. */
  redirect_url!: string;

  /** Comes back unchanged in the callback; good for this session only. */
  state!: string;
}

/** Body of POST /me/identities/complete. */
export class CompleteIdentityDto {
  @RequiredText()
  code!: string;

  @RequiredText()
  state!: string;

  /** Issuer of the callback (RFC 9207), if it has one. */
  @OptionalText()
  iss?: string;
}

/** Body of POST /me/identities/merge. */
export class MergeDto {
  /** Of the answer `identity_in_use`. */
  @RequiredText()
  merge_token!: string;
}

export class Merged {
  /** Id of the user who is now part of the caller. */
  former_user_id!: string;
}

/** Body of POST /users/:user_id/identities. */
export class NewIdentityDto {
  @RequiredText({ max: 63 })
  provider!: string;

  /** Compared byte for byte. */
  @RequiredText({ max: 255 })
  provider_user_id!: string;
}

type Named = Pick<JoinedIdentity, 'provider' | 'username' | 'email' | 'linkedAt'>;

export function toView({ provider, username, email, linkedAt }: Named): IdentityView {
  return { provider, username, email, linked_at: linkedAt, primary: false };
}

export function ownView({ provider, username, email }: Omit<Named, 'linkedAt'>): IdentityView {
  return { provider, username, email, linked_at: null, primary: true };
}
