/** What all targets call themselves, so that one proof is for each of them. */
export const ISSUER = 'http://localhost:3000';
/** With which the load generator pushes and introspects. */
export const SERVICE_KEY = 'bench-service-key-of-32-characters';
/** How many people sign in, in turn; all of them have signed in before. */
export const SIGN_IN_USERS = 5000;

/** Name of the stub provider, as all targets know it. */
export const PROVIDER = 'stub';
export const CLIENT_ID = 'bench';
export const CLIENT_SECRET = 'bench-client-secret';
export const REDIRECT_URI = 'http://127.0.0.1/callback';

/** Path of the stub provider's token endpoint of OpenID Connect. */
export const OIDC_TOKEN = '/oidc/token';

export function codeOf(n: number): string {
  return `user-${String(n).padStart(8, '0')}`;
}

/** The device that user `n` signs in on. */
export function deviceIdOf(n: number): string {
  return `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

export function identityOf(code: string): { provider_user_id: string; username: string; email: string } {
  return { provider_user_id: code, username: code, email: `${code}@example.org` };
}
