import type { KeyObject } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { Clock } from '../../database/clock.js';
import { DatabaseBusy, MOST_WAITING } from '../../database/database-busy.js';
import { Events } from '../../events.js';
import type { UnreadableKey } from './key-cipher.js';
import { KeyRing, type JwkSet, type KeyChanges, type Signer } from './key-ring.js';
import { KeyStore, KeyReader, type ReadKey } from './key.store.js';
import { readHeader } from './sign-jwt.js';

export type { JwkSet, PublishedJwk } from './key-ring.js';

/** So every instance knows within a second of a key that was made or revoked anywhere (contract §5). */
const READ_EVERY_MS = 500;
const CHECK_AGE_EVERY_MS = 60_000;
/** A token of an unknown key has the keys read, unless they were read so lately: ten times a second at most, whoever sends it. */
const KNOWN_FOR_MS = 100;

/** The keys that sign access tokens: they live in the database, so all instances have the same ones (contract §5). */
@Injectable()
export class KeyService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(KeyService.name);
  private nextReading?: NodeJS.Timeout;
  /** That is under way: one at a time, so that what is older never replaces what is newer. */
  private reading: Promise<void> | undefined;
  /** When the last reading began that has succeeded, in milliseconds of `performance.now()`. */
  private readAt = -Infinity;
  /** When a reading has failed, and how; undefined once one has succeeded. */
  private failure: { readonly at: number; readonly error: unknown } | undefined;
  /** Tokens of unknown keys that wait for a reading. */
  private learning = 0;
  private rotation?: NodeJS.Timeout;
  private stopped = false;
  /** Rows that are not valid keys, and were logged. Only an operator can have written them, so there are few. */
  private readonly unreadable = new Set<string>();

  constructor(
    private readonly store: KeyStore,
    private readonly reader: KeyReader,
    private readonly ring: KeyRing,
    private readonly clock: Clock,
    private readonly events: Events,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    events.on('state.asked', (tell) => {
      if (this.ring.signer) tell({ signingKeyActiveAt: this.ring.signer.activeAt });
    });
  }

  async onModuleInit(): Promise<void> {
    const made = await this.store.ensureSigningKey((error) => this.replaceUnreadable(error));
    // A key may be on its way out while an instance starts: its sockets, too, end with it.
    await this.read(({ revoked }) => this.tell({ made: [], revoked }));
    if (!this.ring.signer) throw new Error('there is no signing key to start with');
    if (made) this.events.emit('key.made', made);
    this.readAgain(READ_EVERY_MS);
    this.rotation = setInterval(() => void this.rotateQuietly(), CHECK_AGE_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearTimeout(this.nextReading);
    clearInterval(this.rotation);
  }

  /** The key that signs now. Only a field is read, because every new token asks for it twice. */
  get signing(): Signer {
    return this.ring.signer!; // no request is served before onModuleInit has ended
  }

  /** The public keys of the tokens in use, now or soon; newest first (RFC 7517). */
  get jwks(): JwkSet {
    return this.ring.jwks;
  }

  /** The keys that were ever withdrawn: a few. Of one that follows, `key.revoked` is told. */
  get revokedKids(): readonly string[] {
    return this.ring.revokedKids;
  }

  /** The public key that a token's header names, if the key is ours and the header has just the members that ours have. */
  verificationKey(token: string): KeyObject | undefined {
    const header = readHeader(token);
    return header && this.ring.publicKey(header.kid, this.clock.now());
  }

  /**
   * Reads the keys for a token whose key is not known, if it may be newer than the last reading: of an instance whose database
   * was away for a moment, or that of whoever has withdrawn a key is far, while others sign with its successor.
   * @returns whether the key is known now
   * @throws errors of the database, and DatabaseBusy beyond MOST_WAITING tokens at once
   */
  async learn(token: string): Promise<boolean> {
    const kid = readHeader(token)?.kid;
    if (kid === undefined || this.ring.knows(kid)) return false;
    if (this.learning >= MOST_WAITING) throw new DatabaseBusy('too many tokens wait for the signing keys');
    this.learning++;
    try {
      await this.readSince(performance.now() - KNOWN_FOR_MS);
    } catch (error) {
      if (!this.ring.knows(kid)) throw error;
    } finally {
      this.learning--;
    }
    return this.ring.knows(kid);
  }

  /** Makes the next key if the newest is 90 days old and no other instance does it. @throws errors of the database */
  async rotateIfDue(): Promise<void> {
    await this.store.rotateIfDue();
  }

  private replaceUnreadable(error: UnreadableKey): void {
    if (this.settings.production) throw error;
    this.logger.warn(
      `Signing key ${error.kid} was stored with another SECRET_KEY: retired, and a new one made.`,
    );
  }

  /** Reads the keys unless that was done since; not at once again after it has failed, for strangers set the pace. */
  private async readSince(time: number): Promise<void> {
    while (this.readAt < time) {
      const { failure } = this;
      if (!this.reading && failure && performance.now() < failure.at + READ_EVERY_MS) throw failure.error;
      await this.read();
    }
  }

  private read(tell = (changes: KeyChanges) => this.tell(changes)): Promise<void> {
    this.reading ??= this.readNow(tell)
      .catch((error: unknown) => {
        this.failure = { at: performance.now(), error };
        throw error;
      })
      .finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readNow(tell: (changes: KeyChanges) => void): Promise<void> {
    const began = performance.now();
    const keys = await this.reader.read(this.ring.kids);
    const changes = this.ring.update(keys, (key) => this.privateKeyOf(key), this.clock.now());
    [this.readAt, this.failure] = [began, undefined];
    this.warnOf(changes);
    tell(changes);
    await this.store.ensureTokenTtl(keys);
  }

  private warnOf({ unreadable }: KeyChanges): void {
    for (const { kid } of unreadable) {
      if (!this.unreadable.has(kid))
        this.logger.error(`Signing key ${kid} is not a valid key: it is left out.`);
      this.unreadable.add(kid);
    }
  }

  /** Schedules the next reading: twice a second, and exactly when a key begins to sign. */
  private readAgain(delay: number): void {
    this.nextReading = setTimeout(() => void this.turn(), delay).unref();
  }

  private async turn(): Promise<void> {
    this.ring.turn(this.clock.now());
    try {
      await this.read();
    } catch (error) {
      this.logger.debug({ err: error }); // the database is away: the known keys stay in use
    }
    const now = this.clock.now();
    const wait = Math.ceil(this.ring.turn(now) - now);
    if (!this.stopped) this.readAgain(Math.min(READ_EVERY_MS, wait));
  }

  private tell({ made, revoked }: Pick<KeyChanges, 'made' | 'revoked'>): void {
    for (const { kid, activeAt } of made) this.events.emit('key.made', { kid, activeAt });
    for (const { kid, endsAt } of revoked) {
      const wait = (endsAt?.getTime() ?? 0) - this.clock.now(); // a moment: see SUCCESSION_S of key.store.ts
      setTimeout(() => this.events.emit('key.revoked', { kid }), Math.max(0, wait)).unref();
    }
  }

  private privateKeyOf({ kid, encryptedPrivateKey }: ReadKey): KeyObject | undefined {
    if (!encryptedPrivateKey) return undefined;
    try {
      return this.store.decrypt({ kid, encryptedPrivateKey });
    } catch {
      this.logger.error(
        `Signing key ${kid} was stored with another SECRET_KEY: this instance cannot use it.`,
      );
      return undefined;
    }
  }

  private async rotateQuietly(): Promise<void> {
    try {
      await this.rotateIfDue();
    } catch (error) {
      this.logger.warn({ err: error, msg: 'the signing keys were not rotated; the next try is in a minute' });
    }
  }
}
