import { compactVerify, type CryptoKey, type KeyObject } from 'jose';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

export interface LogoutContext {
  readonly key: CryptoKey | KeyObject;
  readonly issuer: string;
  readonly clientId: string;
  /** Seconds since the epoch. */
  readonly now: number;
}

/**
 * Whether a logout token has to be obeyed, by OpenID Connect Back-Channel Logout 1.0 §2.4 and §2.6 and the contract's §6; written
 * from these alone.
 * @returns its claims, or undefined
 */
export async function logoutByTheBook(
  token: string,
  { key, issuer, clientId, now }: LogoutContext,
): Promise<Record<string, unknown> | undefined> {
  try {
    const { payload, protectedHeader } = await compactVerify(token, key, { algorithms: ['ES256'] });
    const claims = JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>;
    const { typ, kid } = protectedHeader as { typ?: unknown; kid?: unknown };
    const { iss, aud, iat, exp, nbf, jti, sub, sid, events } = claims;
    const isGood =
      (kid === undefined || kid === 'k1') &&
      (typ === undefined ||
        (typeof typ === 'string' &&
          ['jwt', 'logout+jwt'].includes(typ.toLowerCase().replace(/^application\//, '')))) &&
      iss === issuer &&
      [aud].flat().includes(clientId) &&
      typeof iat === 'number' &&
      iat <= now + 30 &&
      (exp === undefined ? iat + 120 > now : typeof exp === 'number' && exp > now && iat + 86_400 > now) &&
      (nbf === undefined || (typeof nbf === 'number' && nbf <= now + 30)) &&
      isName(jti) &&
      isObject(events) &&
      isObject(Object.getOwnPropertyDescriptor(events, EVENT)?.value) &&
      !Object.keys(claims).includes('nonce') &&
      (sub !== undefined || sid !== undefined) &&
      (sub === undefined || isName(sub)) &&
      (sid === undefined || isName(sid));
    return isGood ? claims : undefined;
  } catch {
    return undefined;
  }
}

function isName(value: unknown): boolean {
  if (typeof value !== 'string' || value.includes('\0') || /\p{Surrogate}/u.test(value)) return false;
  const characters = Array.from(value).length;
  return characters >= 1 && characters <= 255;
}

function isObject(value: unknown): boolean {
  return Object.prototype.toString.call(value) === '[object Object]';
}
