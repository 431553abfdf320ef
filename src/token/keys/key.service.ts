import type { KeyObject } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { BACKGROUND_WORK, Background } from '../../platform/background.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { Sql } from '../../platform/database/sql.js';
import { Events } from '../../platform/events.js';
import type { UnreadableKey } from './key-cipher.js';
import { isUsable, type StoredKey } from './key-life.js';
import { KeyRing, type KeyChanges, readHeader } from './key-ring.js';
import { KeyStore, listKeys, type NewKey } from './key.store.js';

/** Every instance applies a new or revoked key within a second (docs/keys.md#the-life-of-a-key). */
const READ_EVERY_MS = BACKGROUND_WORK['read-keys'].everyMs;
/** Tokens with an unknown key cause ten readings a second at most. */
const KNOWN_FOR_MS = 100;

/** Keys that sign access tokens. They are stored in the database, so all instances share them. */
@Injectable()
export class KeyService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(KeyService.name);
  private nextSwitch?: NodeJS.Timeout;
  /** The reading in progress. One at a time, so that an older result never replaces a newer one. */
  private reading: Promise<void> | undefined;
  /** Start of the last successful reading, in milliseconds of `performance.now()`. */
  private readAt = -Infinity;
  /** The last reading, if it failed. */
  private failure: { readonly at: number; readonly error: unknown } | undefined;
  /** Skipped keys; each is logged once. */
  private readonly invalidKids = new Set<string>();

  constructor(
    private readonly store: KeyStore,
    private readonly sql: Sql,
    private readonly ring: KeyRing,
    private readonly clock: Clock,
    private readonly events: Events,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly background: Background,
  ) {
    events.on('state.requested', (tell) => {
      if (this.ring.signer) tell({ signingKeyActiveAt: this.ring.signer.activeAt });
    });
  }

  async onModuleInit(): Promise<void> {
    const made = await this.store.ensureSigningKey((error) => this.replaceUnreadable(error));
    await this.read();
    if (!this.ring.signer) throw new Error('there is no signing key to start with');
    if (made) this.logMade(made);
    this.background.repeat('read-keys', () => this.readAndSwitch());
    this.background.repeat('rotate-keys', () => this.store.rotateIfDue());
  }

  onApplicationShutdown(): void {
    clearTimeout(this.nextSwitch);
  }

  /**
   * Finds the key that verifies a token, before any of the token is parsed.
   * @throws Error if its header is not that of one of our keys
   */
  findPublicKey(token: string): KeyObject {
    const publicKey = this.ring.findPublicKey(token, this.clock.now());
    if (!publicKey) throw new Error('the token names no key of ours');
    return publicKey;
  }

  /**
   * Reads the keys for a token with an unknown key, which may be newer than the last reading.
   * @returns whether the key is known now
   * @throws errors of the database
   */
  async learn(token: string): Promise<boolean> {
    const kid = readHeader(token)?.kid;
    if (kid === undefined || this.ring.knows(kid)) return false;
    try {
      await this.readSince(performance.now() - KNOWN_FOR_MS);
    } catch (error) {
      if (!this.ring.knows(kid)) throw error;
    }
    return this.ring.knows(kid);
  }

  private replaceUnreadable(error: UnreadableKey): void {
    if (this.settings.production) throw error;
    this.logger.warn(
      `Signing key ${error.kid} was stored with another SECRET_KEY: retired, and a new one made.`,
    );
  }

  /**
   * Reads the keys, unless that was done since `time`. After a failure it waits: clients that send forged
   * tokens set no pace.
   */
  private async readSince(time: number): Promise<void> {
    while (this.readAt < time) {
      const { failure } = this;
      if (!this.reading && failure && performance.now() < failure.at + READ_EVERY_MS) throw failure.error;
      await this.read();
    }
  }

  private read(): Promise<void> {
    this.reading ??= this.readNow()
      .catch((error: unknown) => {
        this.failure = { at: performance.now(), error };
        throw error;
      })
      .finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readNow(): Promise<void> {
    const began = performance.now();
    const keys = (await listKeys(this.sql)).filter(({ state }) => state !== 'retired');
    const changes = this.ring.update(keys, (key) => this.decrypt(key), this.clock.now());
    [this.readAt, this.failure] = [began, undefined];
    this.report(changes);
    await this.store.ensureTokenTtl(keys);
  }

  private async readAndSwitch(): Promise<void> {
    this.switch();
    await this.read().finally(() => this.switch());
  }

  /** Switches to the key that signs now, and exactly when the next one begins to sign. */
  private switch(): void {
    clearTimeout(this.nextSwitch);
    const now = this.clock.now();
    const wait = Math.ceil(this.ring.chooseSigner(now) - now);
    if (wait < 2 * READ_EVERY_MS) this.nextSwitch = setTimeout(() => this.switch(), wait).unref();
  }

  /** Emits changes. A revocation may take effect a moment later: see SUCCESSION_MS. */
  private report({ made, revoked, invalid }: KeyChanges): void {
    for (const { kid } of invalid) {
      if (!this.invalidKids.has(kid))
        this.logger.error(
          `Signing key ${kid} is not a valid key and is skipped. Remove its row from signing_keys.`,
        );
      this.invalidKids.add(kid);
    }
    for (const key of made) this.logMade(key);
    for (const { kid, endsAt } of revoked) {
      const wait = endsAt!.getTime() - this.clock.now();
      setTimeout(() => this.reject(kid), Math.max(0, wait)).unref();
    }
  }

  /** Each instance logs it: the audit event is of the instance, or of the command, that made the key. */
  private logMade({ kid, activeAt }: NewKey): void {
    this.logger.log(`Signing key ${kid} was made: it signs from ${activeAt.toISOString()} on.`);
  }

  private reject(kid: string): void {
    this.logger.log(`Signing key ${kid} was revoked: its tokens are rejected from now on.`);
    this.events.emit('key.revoked', { kid });
  }

  private decrypt(key: StoredKey): KeyObject | undefined {
    if (!isUsable(key)) return undefined;
    try {
      return this.store.cipher.decrypt(key);
    } catch {
      this.logger.error(
        `Signing key ${key.kid} was stored with another SECRET_KEY: this instance cannot use it.`,
      );
      return undefined;
    }
  }
}
