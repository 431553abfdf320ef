/** The values of a check: what must come through unchanged, and what nobody else may see. */
export const SECRET = 'the secret of the contract test';
export const STATE = '5e'.repeat(32);
export const REDIRECT_URI = 'https://app.example/callback?from=test';
export const CODE = 'c0de_-~.42';

/** As it is, or encoded for an address or a form. */
export function isIn(secret: string, text: string): boolean {
  const form = new URLSearchParams({ '': secret }).toString().slice(1);
  return [secret, encodeURIComponent(secret), form].some((spelling) => text.includes(spelling));
}
