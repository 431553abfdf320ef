import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, LessThan, type EntityManager } from 'typeorm';
import { systemOrigin, type Origin } from '../../audit/audit-event.js';
import { AuditStore } from '../../audit/audit.store.js';
import type { SecretKey } from '../../platform/config/secrets/secret-key.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import type { Sql } from '../../platform/database/sql.js';
import { KeyCipher, makeKeyPair, UnreadableKey } from './key-cipher.js';
import { isUsable, type KeyLife, type StoredKey, KEY_LIVES, LONGEST_TOKEN_TTL } from './key-life.js';
import { SigningKey, type PublicJwk } from './signing-key.entity.js';

// Raw: KEY_LIVES finds the successor of each key with a window function.
const ALL = {
  name: 'signing-keys',
  text: `SELECT * FROM ${KEY_LIVES} ORDER BY "activeAt" DESC, kid DESC`,
};

/**
 * Reads all signing keys, newest first. Without KeyStore, since the command `keys list` has no SECRET_KEY.
 */
export function listKeys(sql: Sql): Promise<StoredKey[]> {
  return sql.query<StoredKey>(ALL, []);
}

// Raw: an aggregate of KEY_LIVES.
const LAST_TOKEN_END = `SELECT now() + make_interval(secs => ${LONGEST_TOKEN_TTL} + 3600) AS "end"`;

/** Advisory lock; all versions of the service use the same number. */
const LOCK = 0x6c6b_0002;
// Raw: a lock. It returns the time after the wait, unlike `now()`.
const TAKE_LOCK = 'SELECT clock_timestamp() AS now FROM pg_advisory_xact_lock($1)';

/**
 * Milliseconds from publication to first use (docs/keys.md#the-life-of-a-key): twice the time for which
 * clients may cache the JWKS.
 */
const LEAD_MS = 600_000;
/** Seconds: 90 days. */
const ROTATE_AFTER_S = 90 * 86_400;

// Milliseconds after which a revocation of the signing key takes effect, within the second of
// docs/keys.md#the-command. All instances, which read twice a second, know both keys by then; otherwise some
// would reject tokens of the new key.
const SUCCESSION_MS = 700;
const WITHDRAWAL_MS = 850;

/** Only `npm run keys` rotates and revokes on request. */
const BY_COMMAND = systemOrigin('keys');

/** Keys in a transaction that changes them. */
interface KeyChange {
  readonly manager: EntityManager;
  /** Time of the database, in milliseconds since the epoch. */
  readonly now: number;
  /** Newest first. */
  readonly keys: readonly StoredKey[];
}

export type NewKey = Pick<KeyLife, 'kid' | 'activeAt'>;

/** Makes and withdraws signing keys in the database: for the service and for the command `keys`. */
@Injectable()
export class KeyStore {
  readonly cipher: KeyCipher;
  private readonly tokenTtl: number;

  constructor(
    private readonly dataSource: DataSource,
    private readonly audit: AuditStore,
    @Inject(SETTINGS) settings: Pick<Settings, 'secretKey' | 'accessTokenTtl'>,
  ) {
    this.cipher = new KeyCipher(settings.secretKey);
    this.tokenTtl = settings.accessTokenTtl;
  }

  /**
   * Makes a key that signs at once, if no usable key exists.
   * @param onUnreadable is called for each key of another SECRET_KEY: throws, or lets the key be replaced
   */
  ensureSigningKey(onUnreadable: (error: UnreadableKey) => void): Promise<NewKey | undefined> {
    return this.change(async (change) => {
      const { manager, keys } = change;
      const usable = keys.filter(isUsable);
      const unreadable = usable.filter((key) => !this.cipher.canRead(key));
      for (const { kid } of unreadable) onUnreadable(new UnreadableKey(kid));
      // An unreadable key must not take over later.
      const unused = unreadable.filter(({ state }) => state === 'next').map(({ kid }) => kid);
      if (unused.length > 0) await manager.delete(SigningKey, { kid: In(unused) });
      return unreadable.length < usable.length ? undefined : this.make(change, 0, systemOrigin());
    });
  }

  /**
   * Makes the next key: published at once, in use ten minutes later.
   * @returns the next key; `made` is false if it existed already
   * @throws UnreadableKey if the keys were stored with another SECRET_KEY: the service could not use the new
   *   one
   */
  rotate(): Promise<NewKey & { readonly made: boolean }> {
    return this.change(async (change) => {
      const waiting = change.keys.find(({ state }) => state === 'next');
      if (waiting) return { kid: waiting.kid, activeAt: waiting.activeAt, made: false };
      return { ...(await this.makeNext(change, BY_COMMAND)), made: true };
    });
  }

  /**
   * Rotates if the newest key was first used 90 days ago and no other instance has done it.
   * @throws UnreadableKey as `rotate` does
   */
  rotateIfDue(): Promise<NewKey | undefined> {
    return this.change(async (change) => {
      const newest = change.keys.find(isUsable);
      return newest && newest.age >= ROTATE_AFTER_S ? this.makeNext(change, systemOrigin()) : undefined;
    });
  }

  /**
   * Revokes a key: its tokens are rejected everywhere within a second (docs/keys.md#the-command).
   * @returns the successor, if one had to be made
   * @throws an error for an unknown key, and UnreadableKey as `rotate` does; nothing has changed then
   */
  revoke(kid: string): Promise<NewKey | undefined> {
    return this.change(async (change) => {
      const { manager, keys, now } = change;
      const key = keys.find((candidate) => candidate.kid === kid);
      if (!key) throw new Error(`There is no signing key ${kid}.`);
      if (key.revokedAt) return undefined;
      const anotherSigns = keys.some((other) => other !== key && other.state === 'signing');
      const revokedAt = new Date(now + (anotherSigns ? 0 : WITHDRAWAL_MS));
      await manager.update(SigningKey, { kid }, { revokedAt });
      await this.record(manager, 'key_revoked', kid, BY_COMMAND);
      if (anotherSigns) return undefined;
      this.requireSameSecret(keys);
      return this.make(change, SUCCESSION_MS, BY_COMMAND);
    });
  }

  /**
   * Keeps the keys published until the last token of this instance has expired: its ACCESS_TOKEN_TTL may be
   * longer than that of the instance that made the key.
   * @param keys result of the last reading; the database is updated only if one has to change
   */
  async ensureTokenTtl(keys: readonly KeyLife[]): Promise<void> {
    const { dataSource, tokenTtl } = this;
    const shorter = keys.filter((key) => isUsable(key) && key.tokenTtl < tokenTtl).map(({ kid }) => kid);
    if (shorter.length === 0) return;
    await dataSource.manager.update(
      SigningKey,
      { kid: In(shorter), tokenTtl: LessThan(tokenTtl) },
      { tokenTtl },
    );
  }

  /**
   * Returns when the last token that is issued until now has expired at the latest; an hour more, since
   * clocks differ.
   */
  async lastTokenEnd(manager: EntityManager = this.dataSource.manager): Promise<Date> {
    const [row] = await manager.query<{ end: Date }[]>(LAST_TOKEN_END);
    return row!.end;
  }

  /**
   * Encrypts all private parts anew, in one transaction, after SECRET_KEY was changed (docs/keys.md). May be
   * repeated.
   * @param former SECRET_KEY with which the keys are stored
   * @returns the number of changed keys
   * @throws UnreadableKey if a key in use was stored with neither; nothing has changed then
   */
  reencrypt(former: SecretKey): Promise<number> {
    const from = new KeyCipher(former);
    return this.change(async ({ manager, keys }) => {
      const pending = keys.filter((key) => !this.cipher.canRead(key));
      const readable = pending.filter((key) => from.canRead(key));
      for (const key of readable) {
        const encryptedPrivateKey = this.cipher.encrypt(from.decrypt(key), key.kid);
        await manager.update(SigningKey, { kid: key.kid }, { encryptedPrivateKey });
      }
      const lost = pending.find((key) => isUsable(key) && !readable.includes(key));
      if (lost) throw new UnreadableKey(lost.kid);
      return readable.length;
    });
  }

  /** Serializes changes of all instances, so that only one of them makes or rotates a key. */
  private change<Result>(change: (change: KeyChange) => Promise<Result>): Promise<Result> {
    return this.dataSource.transaction(async (manager) => {
      const [time] = await manager.query<{ now: Date }[]>(TAKE_LOCK, [LOCK]);
      const keys = await manager.query<StoredKey[]>(ALL.text);
      return change({ manager, keys, now: time!.now.getTime() });
    });
  }

  private makeNext(change: KeyChange, origin: Origin): Promise<NewKey> {
    this.requireSameSecret(change.keys);
    return this.make(change, LEAD_MS, origin);
  }

  /**
   * @throws UnreadableKey if the newest key has another SECRET_KEY: no instance could use a key that is made
   *   now
   */
  private requireSameSecret(keys: readonly StoredKey[]): void {
    const newest = keys.find(isUsable);
    if (newest) this.cipher.decrypt(newest);
  }

  /** @param delay milliseconds until the first use */
  private async make({ manager, now }: KeyChange, delay: number, origin: Origin): Promise<NewKey> {
    const { privateKey, publicKey } = makeKeyPair();
    const kid = randomUUID();
    const activeAt = new Date(now + delay);
    await manager.insert(SigningKey, {
      kid,
      publicJwk: publicKey.export({ format: 'jwk' }) as PublicJwk,
      encryptedPrivateKey: this.cipher.encrypt(privateKey, kid),
      createdAt: new Date(now),
      activeAt,
      tokenTtl: this.tokenTtl,
    });
    await this.record(manager, 'key_made', kid, origin);
    return { kid, activeAt };
  }

  private record(
    manager: EntityManager,
    event: 'key_made' | 'key_revoked',
    kid: string,
    origin: Origin,
  ): Promise<void> {
    return this.audit.write(manager, [{ event, userId: null, reason: `key ${kid}`, origin }]);
  }
}
