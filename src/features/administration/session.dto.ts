/** Answer of GET /admin/session. */
export class AdminSession {
  /** UUID. */
  user_id!: string;

  username!: string | null;

  /** Name of the user's provider. */
  provider!: string;

  /** Null: the administration page is not for this user. */
  right!: 'users' | 'support' | null;

  /** Role that grants the right `users` (ADMIN_ROLE). */
  admin_role!: string;

  /** Role that grants the right `support` (SUPPORT_ROLE). */
  support_role!: string;
}
