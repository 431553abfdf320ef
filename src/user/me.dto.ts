/** Answer of GET /me. */
export class Me {
  /** UUID. */
  user_id!: string;

  /** Null if the provider sent none. */
  username!: string | null;

  /** Null if the provider sent none. */
  email!: string | null;

  /** Null if the provider sent none. */
  avatar_url!: string | null;

  /** The first sign-in; in JSON RFC 3339, UTC, with milliseconds. */
  created_at!: Date;

  /** Claims of the user now, by name. */
  claims!: Record<string, unknown>;
}
