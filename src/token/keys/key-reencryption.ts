import type { DataSource } from 'typeorm';
import type { SecretKey } from '../../config/secrets/secret-key.js';
import { KeyCipher } from './key-cipher.js';
import { UnreadableKey } from './key-errors.js';
import { isUsable, type StoredKey } from './key-life.js';
import { SigningKey } from './signing-key.entity.js';
import { changeKeys } from './key.store.js';

/**
 * Encrypts every private part anew, in one transaction, when SECRET_KEY is changed (docs/keys.md).
 * @param former the SECRET_KEY that they are stored with
 * @param current the SECRET_KEY from now on
 * @returns how many. Those that are encrypted with the current one already are passed over, so this may be repeated.
 * @throws UnreadableKey when a key in use was stored with neither; nothing has changed then
 */
export function reencryptKeys(
  dataSource: DataSource,
  former: SecretKey,
  current: SecretKey,
): Promise<number> {
  const [from, to] = [new KeyCipher(former), new KeyCipher(current)];
  return changeKeys(dataSource, async (manager, keys) => {
    const pending = keys.filter((key) => !to.canRead(key));
    const readable = pending.filter((key) => from.canRead(key));
    for (const key of readable) {
      const encryptedPrivateKey = to.encrypt(from.decrypt(key), key.kid);
      await manager.update(SigningKey, { kid: key.kid }, { encryptedPrivateKey });
    }
    const lost = pending.find((key: StoredKey) => isUsable(key) && !readable.includes(key));
    if (lost) throw new UnreadableKey(lost.kid); // a key that signs no more may stay unreadable
    return readable.length;
  });
}
