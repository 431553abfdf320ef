import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { KeyLife } from './key-life.js';
import type { PublicJwk } from './signing-key.entity.js';

export interface PublishedJwk extends PublicJwk {
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'ES256';
}

/** RFC 7517 §5. */
export interface JwkSet {
  readonly keys: readonly PublishedJwk[];
}

/** Key in memory. Times are milliseconds since the epoch, by the database's clock. */
interface RingKey {
  readonly kid: string;
  /** Encoded header of all its tokens. */
  readonly header: string;
  readonly jwk: PublishedJwk;
  readonly publicKey: KeyObject;
  /** Undefined if it is not needed, or cannot be decrypted. */
  readonly privateKey: KeyObject | undefined;
  /** First use. */
  readonly activeAt: number;
  readonly endsAt: number;
  readonly revoked: boolean;
}

type Signer = RingKey & { readonly privateKey: KeyObject };

export interface KeyChanges {
  /** Keys that are new here; none after the first update. */
  readonly made: readonly KeyLife[];
  /** Keys that were revoked since the last update, or are new here and valid for another moment. */
  readonly revoked: readonly KeyLife[];
  /** Rows that are no valid keys, and were skipped. */
  readonly invalid: readonly KeyLife[];
}

/** Keys of one instance, in memory: requests do not wait for the database. */
@Injectable()
export class KeyRing {
  private keys = new Map<string, RingKey>();
  private current: Signer | undefined;
  private published: JwkSet = { keys: [] };

  /** All revoked keys; later ones are emitted as `key.revoked`. */
  get revokedKids(): string[] {
    return [...this.keys.values()].filter(({ revoked }) => revoked).map(({ kid }) => kid);
  }

  /** The key that signs now; KeyService sets it before the first request. */
  get signer(): Signer | undefined {
    return this.current;
  }

  /** Public keys of the tokens in use, now or soon; newest first (RFC 7517). */
  get jwks(): JwkSet {
    return this.published;
  }

  knows(kid: string): boolean {
    return this.keys.has(kid);
  }

  /** Finds the key that the header of a token names: all tokens of a key begin with the same text. */
  findPublicKey(token: string, now: number): KeyObject | undefined {
    for (const { header, endsAt, publicKey } of this.keys.values())
      if (token.startsWith(header) && token[header.length] === '.')
        return now < endsAt ? publicKey : undefined;
    return undefined;
  }

  /**
   * Replaces the keys with a reading of the database.
   * @param lives newest first
   * @param decrypt is called once for each new key
   */
  update<Life extends KeyLife>(
    lives: readonly Life[],
    decrypt: (life: Life) => KeyObject | undefined,
    now: number,
  ): KeyChanges {
    const before = this.keys;
    const invalid: Life[] = [];
    this.keys = new Map();
    for (const life of lives) {
      try {
        const known = before.get(life.kid) ?? { ...publicParts(life), privateKey: decrypt(life) };
        this.keys.set(life.kid, { ...known, ...toTimes(life) });
      } catch {
        invalid.push(life); // it must not keep this instance from new keys and revocations
      }
    }
    this.chooseSigner(now);
    const valid = lives.filter(({ kid }) => this.keys.has(kid));
    return {
      made: before.size === 0 ? [] : valid.filter(({ kid }) => !before.has(kid)),
      revoked: valid.filter(({ kid, revokedAt, endsAt }) => {
        const known = before.get(kid);
        return revokedAt && (known ? !known.revoked : now < endsAt!.getTime());
      }),
      invalid,
    };
  }

  /**
   * Chooses the key that signs and the keys that are published from now on.
   * @returns the time at which the next key begins to sign; Infinity if there is none
   */
  chooseSigner(now: number): number {
    const living = [...this.keys.values()].filter(({ endsAt }) => now < endsAt);
    this.published = { keys: living.map(({ jwk }) => jwk) };
    const able = living.filter((key): key is Signer => key.privateKey !== undefined);
    // If no key is active yet, the first one: its first use may be this very moment.
    const chosen = able.find(({ activeAt }) => activeAt <= now) ?? able.at(-1);
    if (chosen && chosen.kid !== this.current?.kid) this.current = chosen;
    return Math.min(...able.map(({ activeAt }) => activeAt).filter((activeAt) => activeAt > now));
  }
}

function publicParts({ kid, publicJwk }: KeyLife): Pick<RingKey, 'kid' | 'header' | 'jwk' | 'publicKey'> {
  return {
    kid,
    header: encodePart({ alg: 'ES256', typ: 'at+jwt', kid }),
    jwk: { ...publicJwk, kid, use: 'sig', alg: 'ES256' },
    publicKey: createPublicKey({ key: { ...publicJwk }, format: 'jwk' }),
  };
}

function toTimes({ activeAt, endsAt, revokedAt }: KeyLife): Pick<RingKey, 'activeAt' | 'endsAt' | 'revoked'> {
  return {
    activeAt: activeAt.getTime(),
    endsAt: endsAt?.getTime() ?? Infinity,
    revoked: revokedAt !== null,
  };
}

/**
 * Signs a JWT in compact form with ES256 (RFC 7515 §3.1, RFC 7518 §3.4). Own claims need none of
 * jsonwebtoken's checks, which take almost half of its time (CONTRIBUTING.md#deviations-from-nestjs).
 * @param header encoded (`encodePart`), since all tokens of a key share it
 */
export function signJwt(header: string, claims: object, privateKey: KeyObject): string {
  const input = `${header}.${encodePart(claims)}`;
  const signature = sign('sha256', Buffer.from(input, 'latin1'), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${input}.${signature.toString('base64url')}`;
}

/** Encodes a part of a JWT: base64url of JSON. */
export function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/**
 * Characters of an encoded header; ours have about 130. A longer one is not parsed: it may have 16 KiB of
 * objects.
 */
const LONGEST_HEADER = 256;

/**
 * Returns the header of an access token, or undefined unless it has exactly `alg`, `typ` and `kid` as ours
 * have: no `jwk`, `jku`, `x5u` or `crit` (RFC 8725 §3.10), no other algorithm (§3.1), no other type of JWT
 * (§3.11).
 */
export function readHeader(token: string): { readonly kid: string } | undefined {
  const end = token.indexOf('.');
  if (end > LONGEST_HEADER) return undefined;
  const encoded = token.slice(0, end);
  try {
    const header = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Record<string, unknown>;
    const { alg, typ, kid } = header;
    const ours =
      alg === 'ES256' && typ === 'at+jwt' && typeof kid === 'string' && Object.keys(header).length === 3;
    return ours ? { kid } : undefined;
  } catch {
    return undefined;
  }
}
