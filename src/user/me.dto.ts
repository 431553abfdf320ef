import type { User } from './user.entity.js';

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

  /** The first sign-in, or POST /users before it; in JSON RFC 3339, UTC, with milliseconds. */
  created_at!: Date;

  /** Claims of the user now, by name. */
  claims!: Record<string, unknown>;
}

export function toMe(user: User): Me {
  return {
    user_id: user.userId,
    username: user.username,
    email: user.email,
    avatar_url: user.avatarUrl,
    created_at: user.createdAt,
    claims: user.claims ?? {},
  };
}
