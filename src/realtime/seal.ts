import { createHmac, timingSafeEqual } from 'node:crypto';

const SEAL = /^\{"seal":"([A-Za-z0-9_-]{43})",/;

/**
 * Marks a message of this service, so that others who can write to the same Redis cannot forge one: the HMAC-SHA256 of the
 * object, as base64url, becomes its first member.
 *
 * @param json of an object that is not empty
 * @param key of 32 bytes, the same on all instances
 */
export function seal(json: string, key: Buffer): string {
  return `{"seal":"${macOf(json, key)}",${json.slice(1)}`;
}

/** The text that was sealed with this key; undefined for any other text. Never throws. */
export function unseal(text: string, key: Buffer): string | undefined {
  const [start, mac] = SEAL.exec(text) ?? [];
  if (start === undefined) return undefined;
  const json = `{${text.slice(start.length)}`;
  // As text: of the last character a decoder reads but four bits, so four messages would pass for one.
  return timingSafeEqual(Buffer.from(mac!), Buffer.from(macOf(json, key))) ? json : undefined;
}

function macOf(json: string, key: Buffer): string {
  return createHmac('sha256', key).update(json).digest('base64url');
}
