import { decodeJwt, errors, jwtVerify, type CryptoKey, type JWTHeaderParameters } from 'jose';
import { readClaims, type Claims } from './claims.js';
import type { KeySet } from './key-set.js';
import { invalidToken, LatchkeyError } from './latchkey-error.js';
import type { Settings } from './options.js';

/** Ours have some 600 characters. */
const LONGEST_TOKEN = 8192;

export interface SignedToken {
  readonly claims: Claims;
  /** The key that signed it. */
  readonly kid: string;
}

/** What can be told of a token without asking whether its session has ended (contract §5; RFC 9068 §4). */
export class TokenSignature {
  constructor(
    private readonly keys: KeySet,
    private readonly settings: Pick<Settings, 'issuer' | 'clockTolerance'>,
  ) {}

  /** @throws LatchkeyError `invalid_token`; `temporarily_unavailable` when the key is not known and cannot be fetched */
  async verify(token: string): Promise<SignedToken> {
    if (typeof token !== 'string' || token.length > LONGEST_TOKEN) throw invalid();
    try {
      const { issuer, clockTolerance } = this.settings;
      const { payload, protectedHeader } = await jwtVerify(token, (header) => this.keyOf(header, token), {
        algorithms: ['ES256'],
        typ: 'at+jwt',
        issuer,
        audience: issuer,
        clockTolerance,
        requiredClaims: ['exp'],
      });
      const claims = readClaims(payload);
      if (!claims) throw invalid();
      return { claims, kid: protectedHeader.kid! };
    } catch (error) {
      throw error instanceof LatchkeyError ? error : refusal(error);
    }
  }

  private keyOf({ kid }: JWTHeaderParameters, token: string): CryptoKey | Promise<CryptoKey> {
    if (typeof kid !== 'string') throw invalid();
    return this.keys.known(kid) ?? this.findKey(kid, token);
  }

  /** Asks only for what may be a token of ours: whoever sends others shall not make us ask. */
  private async findKey(kid: string, token: string): Promise<CryptoKey> {
    const { issuer, clockTolerance } = this.settings;
    const { iss, exp } = decodeJwt(token);
    if (iss !== issuer) throw invalidToken(OTHER_ISSUER);
    if (typeof exp !== 'number' || exp + clockTolerance <= Date.now() / 1000) throw invalidToken(EXPIRED);
    if (this.keys.isRevoked(kid)) throw invalid();
    const key = await this.keys.find(kid);
    if (!key) throw invalid();
    return key;
  }
}

const EXPIRED = 'the access token has expired';
const OTHER_ISSUER = 'the access token is of another issuer';

const invalid = (): LatchkeyError => invalidToken('the access token is invalid');

/** Without the cause: errors of jose carry the claims. */
function refusal(error: unknown): LatchkeyError {
  const { code, claim } = error as { code?: string; claim?: string };
  if (code === errors.JWTExpired.code) return invalidToken(EXPIRED);
  if (claim === 'iss') return invalidToken(OTHER_ISSUER);
  return invalid();
}
