import { randomBytes } from 'node:crypto';

/** What has the form of an access token, and is none. */
export function forgedToken(): string {
  return [
    'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9',
    ...[120, 64].map((bytes) => randomBytes(bytes).toString('base64url')),
  ].join('.');
}
