import { createPublicKey, generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto';
import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DataSource, IsNull, type EntityManager } from 'typeorm';
import { deriveKey } from '../config/derive-key.js';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { decryptPrivateKey, encryptPrivateKey } from './key-encryption.js';
import { readHeader } from './jose-header.js';
import { SigningKey, type PublicJwk } from './signing-key.entity.js';

/** Instances that start together queue here, so that the first key is made exactly once. */
const FIRST_KEY_LOCK = 0x6c6b_0002;

export interface PublishedJwk extends PublicJwk {
  kid: string;
  use: 'sig';
  alg: 'ES256';
}

/** RFC 7517 §5. */
export interface JwkSet {
  readonly keys: readonly PublishedJwk[];
}

/** The keys that sign access tokens: they live in the database, so all instances have the same ones (contract §5). */
@Injectable()
export class KeyService implements OnModuleInit {
  private readonly logger = new Logger(KeyService.name);
  private readonly encryptionKey: Buffer;
  private current?: { kid: string; privateKey: KeyObject };
  private published: PublishedJwk[] = [];
  private publicKeys = new Map<string, KeyObject>();

  constructor(
    private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.encryptionKey = deriveKey(settings.secretKey, 'signing-keys');
  }

  async onModuleInit(): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await manager.query('SELECT pg_advisory_xact_lock($1)', [FIRST_KEY_LOCK]);
      this.current = (await this.loadCurrent(manager)) ?? (await this.makeKey(manager));
    });
    const keys = await this.dataSource.getRepository(SigningKey).find({ order: { createdAt: 'DESC' } });
    this.published = keys.map(({ kid, publicJwk }) => ({ ...publicJwk, kid, use: 'sig', alg: 'ES256' }));
    this.publicKeys = new Map(
      keys.map(({ kid, publicJwk }) => [kid, createPublicKey({ key: { ...publicJwk }, format: 'jwk' })]),
    );
  }

  /** The key that signs now. */
  get signing(): { readonly kid: string; readonly privateKey: KeyObject } {
    return this.current!; // no request is served before onModuleInit has ended
  }

  /** The public keys that a token in the field may be signed with, newest first (RFC 7517). */
  get jwks(): JwkSet {
    return { keys: this.published };
  }

  /** The public key that a token's header names, if it is one of ours and the header says nothing but what ours say. */
  verificationKey(token: string): KeyObject | undefined {
    const header = readHeader(token);
    return header && this.publicKeys.get(header.kid);
  }

  private async loadCurrent(
    manager: EntityManager,
  ): Promise<{ kid: string; privateKey: KeyObject } | undefined> {
    const stored = await manager.findOne(SigningKey, {
      where: { retiredAt: IsNull() },
      order: { createdAt: 'DESC' },
      select: { kid: true, encryptedPrivateKey: true },
    });
    if (!stored) return undefined;
    const { kid, encryptedPrivateKey } = stored;
    try {
      return { kid, privateKey: decryptPrivateKey(encryptedPrivateKey, kid, this.encryptionKey) };
    } catch {
      if (this.settings.production) {
        throw new Error(
          `Signing key ${kid} cannot be decrypted: SECRET_KEY is not the one it was stored with.`,
        );
      }
      this.logger.warn(`Signing key ${kid} was stored with another SECRET_KEY: retired, and a new one made.`);
      await manager.update(SigningKey, { retiredAt: IsNull() }, { retiredAt: () => 'now()' });
      return undefined;
    }
  }

  private async makeKey(manager: EntityManager): Promise<{ kid: string; privateKey: KeyObject }> {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const kid = randomUUID();
    await manager.insert(SigningKey, {
      kid,
      publicJwk: publicKey.export({ format: 'jwk' }) as unknown as PublicJwk,
      encryptedPrivateKey: encryptPrivateKey(privateKey, kid, this.encryptionKey),
    });
    return { kid, privateKey };
  }
}
