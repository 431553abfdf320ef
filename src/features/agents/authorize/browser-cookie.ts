import { hash, randomBytes } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { Request, Response } from 'express';

const SECRET = /^[A-Za-z0-9_-]{43}$/;
/** Seconds: a year. A program on this computer has one device as long. */
const LIFE = 365 * 86_400;

/** `__Host-` needs TLS; without it (development) the name has no prefix. */
function nameOf(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-latchkey_agents' : 'latchkey_agents';
}

/** Secret of a browser, which binds a request of a program to it. */
export class BrowserSecret {
  private constructor(private readonly secret: string) {}

  static read({ headers }: Request, publicUrl: string): BrowserSecret | undefined {
    const value = parseCookie(headers.cookie ?? '')[nameOf(publicUrl)];
    return value !== undefined && SECRET.test(value) ? new BrowserSecret(value) : undefined;
  }

  /** Reads or makes the secret, and keeps it for a year from now. */
  static keep(request: Request, response: Response, publicUrl: string): BrowserSecret {
    const known = BrowserSecret.read(request, publicUrl);
    const secret = known ?? new BrowserSecret(randomBytes(32).toString('base64url'));
    const cookie = stringifySetCookie({
      name: nameOf(publicUrl),
      value: secret.secret,
      path: '/',
      maxAge: LIFE,
      httpOnly: true,
      sameSite: 'lax', // the provider's page sends the browser back; a foreign POST does not get it
      secure: publicUrl.startsWith('https:'),
    });
    response.append('Set-Cookie', cookie);
    return secret;
  }

  /** What the database stores. */
  get hash(): Buffer {
    return hash('sha256', this.secret, 'buffer');
  }

  /** Hash that only this browser leads to, for one purpose. */
  derive(purpose: string): Buffer {
    return hash('sha256', JSON.stringify([purpose, this.secret]), 'buffer');
  }
}
