// What the service answers (contract §4, §9), as far as the page shows it. Times are RFC 3339.

/** What the signed-in person may do: `users` includes `support`. */
export interface AdminSession {
  readonly user_id: string;
  readonly username: string | null;
  readonly right: 'users' | 'support' | null;
  readonly admin_role: string;
  readonly support_role: string;
}

type Claims = Readonly<Record<string, unknown>>;

export interface User {
  readonly user_id: string;
  readonly provider: string;
  readonly provider_user_id: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly avatar_url: string | null;
  readonly claims: Claims;
  readonly suspended_at: string | null;
  readonly created_at: string;
  readonly last_seen_at: string | null;
  readonly online: boolean;
  readonly live_sessions: number;
}

/** A page of a list; it may have fewer entries than asked for, even none, although there are more. */
export interface Page {
  readonly next_cursor?: string;
}

/** A provider as `GET /oauth2/providers` lists it. */
export interface OfferedProvider {
  readonly name: string;
  readonly label: string;
}
