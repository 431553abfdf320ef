import { parseCookie, stringifySetCookie } from 'cookie';
import type { Request, Response } from 'express';
import { CODE_TTL } from '../requests/device-request.store.js';

/** Random bits and the id of the request, so that the secret is of no use for another one. */
const SECRET = /^[A-Za-z0-9_-]{43}\.([0-9a-f-]{36})$/;

/** `__Host-` needs TLS; without it (development) the name has no prefix. */
function nameOf(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-latchkey_device' : 'latchkey_device';
}

/** Reads the secret that binds a browser to a sign-in on the page for one request. */
export function readSecret({ headers }: Request, publicUrl: string): string | undefined {
  const value = parseCookie(headers.cookie ?? '')[nameOf(publicUrl)];
  return value !== undefined && SECRET.test(value) ? value : undefined;
}

/** Returns the id of the request that a secret belongs to. */
export function requestIdOf(secret: string): string {
  return SECRET.exec(secret)![1]!;
}

/** @param secret undefined: the cookie is removed */
export function setSecret(response: Response, publicUrl: string, secret: string | undefined): void {
  const cookie = stringifySetCookie({
    name: nameOf(publicUrl),
    value: secret ?? '',
    path: '/',
    maxAge: secret === undefined ? 0 : CODE_TTL,
    httpOnly: true,
    sameSite: 'lax', // the provider's page sends the browser back; a foreign POST does not get it
    secure: publicUrl.startsWith('https:'),
  });
  response.setHeader('Set-Cookie', cookie);
}
