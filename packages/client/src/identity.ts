/** An account by which the user may sign in. Values that the provider does not send are null. */
export interface Identity {
  /** Name of the provider. */
  readonly provider: string;
  readonly username: string | null;
  readonly email: string | null;
  /** RFC 3339; null: the user's own. */
  readonly linked_at: string | null;
  /** Whether it is the user's own, which stays. */
  readonly primary: boolean;
}

/** The accounts of a user. */
export interface Identities {
  /** The user's own is the first. */
  readonly identities: readonly Identity[];
  /** Names of the providers of accounts that the user may join besides. */
  readonly joinable: readonly string[];
}

/** An account that is another user, or not yet joined. */
export type OtherIdentity = Pick<Identity, 'provider' | 'username' | 'email'>;
