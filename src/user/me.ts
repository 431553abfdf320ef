import { Expose, Type } from 'class-transformer';

/** Answer of GET /me, made of a Profile: who the caller is, as the provider last described them (contract §4). */
export class Me {
  /** UUID. */
  @Expose({ name: 'userId' })
  user_id!: string;

  /** Null where the provider told none. */
  @Expose()
  username!: string | null;

  /** Null where the provider told none. */
  @Expose()
  email!: string | null;

  /** Null where the provider told none. */
  @Expose({ name: 'avatarUrl' })
  avatar_url!: string | null;

  /** The first sign-in; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose({ name: 'createdAt' })
  @Type(() => Date)
  created_at!: Date;
}
