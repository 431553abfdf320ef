import { hkdfSync } from 'node:crypto';

/**
 * A key of its own for each use (HKDF-SHA256, RFC 5869; contract §2 `SECRET_KEY`), so that no use can
 * give away another's.
 *
 * @param secretKey `Settings.secretKey`
 * @param use what for, e.g. `signing-keys`, `sample-provider`; other words, another key
 * @returns 32 bytes, always the same for the same two
 */
export function deriveKey(secretKey: Buffer, use: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, '', `latchkey ${use}`, 32));
}
