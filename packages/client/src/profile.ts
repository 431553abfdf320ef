/** What a session tells of its user; each only where the provider says it. */
export interface Profile {
  readonly username?: string;
  readonly email?: string;
  readonly avatarUrl?: string;
}

/** @param source what the service answered, or what a storage had, which another script may have written */
export function readProfile(source: unknown): Profile {
  const { username, email, avatarUrl, avatar_url = avatarUrl } = Object(source) as Record<string, unknown>;
  return {
    ...(isText(username) && { username }),
    ...(isText(email) && { email }),
    // Pages put it into an `src` or an `href`.
    ...(isText(avatar_url) && /^https?:/.test(avatar_url) && { avatarUrl: avatar_url }),
  };
}

/** Whether it is a text with something in it. */
export function isText(value: unknown): value is string {
  return !!value && typeof value === 'string';
}
