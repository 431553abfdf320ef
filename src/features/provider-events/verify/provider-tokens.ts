import { Inject, Injectable } from '@nestjs/common';
import type { JWTPayload } from 'jose';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Clock } from '../../../platform/database/clock.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { isName } from '../../../provider/identity/identity.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { invalidToken } from '../../../token/access-tokens/access-token.verifier.js';
import { BadToken, issuerIn } from '../../../provider/keys/remote-keys.js';
import { readSet, SET_TOLERANCE_S, SetError, type SecurityEvents, type SetErrorCode } from './set-claims.js';
import { SignerKeys } from './signer-keys.js';
import { namesOf } from './transmitter.js';
import { isObject } from '../../../platform/http/parameters/json.js';

/** Validated token of a request to revoke (draft-parecki-oauth-global-token-revocation). */
export interface RevocationToken {
  readonly issuer: string;
  readonly jti: string;
  /** Seconds since the epoch: from then on the token is rejected. */
  readonly until: number;
}

const REVOCATION_AHEAD_S = 60;
const LONGEST_REVOCATION_S = 600;

const NO_SET = 'the token is not a valid security event token of the transmitter';

/** By what of a security event token is wrong. */
const SET_ERRORS: Readonly<Record<string, readonly [SetErrorCode, string]>> = {
  signature: ['authentication_failed', NO_SET],
  key: ['invalid_key', NO_SET],
  iss: ['invalid_issuer', 'iss is not the issuer of the transmitter'],
  aud: ['invalid_audience', 'aud is neither the address of this service nor signals_audience'],
};

/**
 * Validates tokens of providers, except that they may have been used before. Without the keys of a signer,
 * each method throws OAuthError `server_error` (503).
 */
@Injectable()
export class ProviderTokens {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly keys: SignerKeys,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>,
  ) {}

  /**
   * Validates a logout token (OpenID Connect Back-Channel Logout 1.0 §2.6).
   * @throws OAuthError `invalid_request` for a bad token, without a reason
   */
  async verifyLogout(provider: string, token: string): Promise<Logout> {
    const { clientId: audience } = this.providers.get(provider).settings;
    const now = this.now();
    // RFC 8725 §3.11; `JWT`: Glewlwyd. readLogout validates `exp` without a tolerance.
    const types = [undefined, 'jwt', 'logout+jwt'];
    const rules = { types, audience, now, tolerance: LOGOUT_TOLERANCE_S };
    try {
      const keys = this.keys.ofProvider(provider, issuerIn(token));
      return await keys.verify(token, rules, (claims) => readLogout(claims, now));
    } catch (cause) {
      if (!(cause instanceof BadToken)) throw cause;
      throw new OAuthError('invalid_request', 'the logout token is not valid', { cause });
    }
  }

  /**
   * Validates a security event token (SSF 1.0 §4).
   * @throws SetError for a bad token
   */
  async verifySet(provider: string, token: string): Promise<SecurityEvents> {
    const { settings } = this.providers.get(provider);
    const now = this.now();
    const audience = [this.settings.publicUrl, ...[settings.signals?.audience ?? []].flat()];
    const rules = { types: ['secevent+jwt'], audience, now, tolerance: SET_TOLERANCE_S }; // RFC 8417 §2.3
    try {
      return await this.keys.ofTransmitter(provider).verify(token, rules, (claims) => {
        const critical = this.keys.criticalMembers(provider);
        return readSet(claims, { issuers: namesOf(settings), critical }, now);
      });
    } catch (cause) {
      if (!(cause instanceof BadToken)) throw cause;
      const [code, description] = SET_ERRORS[cause.about ?? ''] ?? ['invalid_request', NO_SET];
      throw new SetError(code, description, cause);
    }
  }

  /**
   * Validates the token of a request to revoke, which the provider or `signals_issuer` signs.
   * @param authorization header
   * @throws OAuthError `invalid_token`
   */
  async verifyRevocation(provider: string, authorization: string | undefined): Promise<RevocationToken> {
    if (authorization === undefined) throw invalidToken('a token of the provider is needed', 'Bearer');
    const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw invalidRevocation();
    const audience = `${this.settings.publicUrl}/providers/${provider}/global-token-revocation`;
    const now = this.now();
    const rules = { types: ['global-token-revocation+jwt'], audience, now, tolerance: 0 };
    const [own, transmitter] = namesOf(this.providers.get(provider).settings);
    const isOfTransmitter = transmitter !== own && issuerIn(token) === transmitter;
    const keys = isOfTransmitter ? this.keys.ofTransmitter(provider) : this.keys.ofProvider(provider);
    try {
      return await keys.verify(token, rules, (claims) => readRevocation(claims, now));
    } catch (error) {
      throw error instanceof BadToken ? invalidRevocation(error) : error;
    }
  }

  /** The database's clock: seconds since the epoch. */
  private now(): number {
    return this.clock.now() / 1000;
  }
}

function readRevocation({ iss = '', iat, exp, jti }: JWTPayload, now: number): RevocationToken {
  if (iat === undefined || exp === undefined) throw new Error('iat or exp is missing');
  if (iat > now + REVOCATION_AHEAD_S || exp > iat + LONGEST_REVOCATION_S) {
    throw new Error('it is valid for too long');
  }
  if (!isName(jti)) throw new Error('jti is missing or unusable');
  return { issuer: iss, jti, until: exp };
}

export function invalidRevocation(cause?: Error): OAuthError {
  return Object.assign(invalidToken('the token is not valid here'), cause && { cause });
}

/** Validated claims of a logout token (OpenID Connect Back-Channel Logout 1.0 §2.4). */
export interface Logout {
  readonly jti: string;
  /** `sub` and `sid`; at least one is present. */
  readonly subject: string | null;
  readonly session: string | null;
  /** Seconds since the epoch, by the database's clock: from then on the token is rejected. */
  readonly until: number;
}

const WITHOUT_EXP_S = 120; // seconds of validity without `exp`
const LONGEST_S = 86_400; // upper bound with `exp`; the `jti` is stored for as long
/** Seconds by which the provider's clock may be ahead. */
const LOGOUT_TOLERANCE_S = 30;

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * Validates the claims of a logout token with a valid signature, `iss` and `aud` (§2.6).
 * @throws an error with a fixed message
 */
export function readLogout(claims: JWTPayload, now: number): Logout {
  const { iat, exp, sub, sid, jti } = claims;
  if (typeof iat !== 'number' || iat > now + LOGOUT_TOLERANCE_S)
    throw new Error('iat is missing or in the future');
  const until = exp === undefined ? iat + WITHOUT_EXP_S : Math.min(exp, iat + LONGEST_S);
  if (until <= now) throw new Error('it has expired');
  if (!isName(jti)) throw new Error('jti is missing or unusable');
  const { events } = claims;
  if (!isObject(events) || !Object.hasOwn(events, EVENT) || !isObject(events[EVENT]))
    throw new Error('events does not name a back-channel logout');
  // §2.4: an ID token must not pass as a logout token.
  if (Object.hasOwn(claims, 'nonce')) throw new Error('it has a nonce');
  if (sub === undefined && sid === undefined) throw new Error('it has neither sub nor sid');
  return { jti, subject: nameIn(sub), session: nameIn(sid), until };
}

function nameIn(claim: unknown): string | null {
  if (claim === undefined) return null;
  const isNumber = typeof claim === 'number' && Number.isSafeInteger(claim);
  const name = isNumber ? String(claim) : claim; // as in ID tokens
  if (!isName(name)) throw new Error('sub or sid is unusable');
  return name;
}
