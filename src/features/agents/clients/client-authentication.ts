import { hash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose';
import { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Clock } from '../../../platform/database/clock.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { percentDecoded, readBasic } from '../../../platform/http/basic-credentials.js';
import { AgentsFile } from '../file/agents-file.js';
import { ClientDocuments } from './client-documents.js';
import { useOnce } from './used-assertions.js';

/** RFC 7523 §2.2. */
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
export const ASSERTION_ALGORITHMS = [
  'ES256',
  'ES384',
  'PS256',
  'PS384',
  'RS256',
  'RS384',
  'Ed25519',
  'EdDSA',
];
const LONGEST_ASSERTION = 8192;
/** Seconds. */
const [TOLERANCE, LONGEST_LIFE, DAY] = [60, 600, 86_400];

/** How a program authenticates itself, as it was at consent. The keys of the file are not stored. */
export interface StoredAuthentication {
  readonly method: 'none' | 'client_secret' | 'private_key_jwt';
  /** Keys of the document, and when they were read: milliseconds since the epoch. */
  readonly keys?: JSONWebKeySet;
  readonly readAt?: number;
}

/** Parameters of POST /oauth2/token by which clients name and authenticate themselves. */
export interface ClientParameters {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly client_assertion_type?: string;
  readonly client_assertion?: string;
}

/**
 * Reads which client a request is of: `client_id`, the user name of Basic (RFC 6749 §2.3.1), or the `sub` of
 * the assertion (RFC 7521 §4.2).
 * @returns undefined if none is named
 * @throws OAuthError `invalid_client` if several are
 */
export function readClientId(params: ClientParameters, authorization?: string): string | undefined {
  const basic = readBasic(authorization);
  const named = [
    params.client_id,
    basic && percentDecoded(basic.userName),
    params.client_assertion && subjectOf(params.client_assertion),
  ].filter((one) => one !== undefined && one !== '');
  if (new Set(named).size > 1) throw new OAuthError('invalid_client', 'the request names several clients');
  return named[0];
}

function subjectOf(assertion: string): string | undefined {
  if (assertion.length > LONGEST_ASSERTION) return undefined;
  try {
    return decodeJwt(assertion).sub;
  } catch {
    return undefined;
  }
}

/** Checks that a request is of the program that it names (RFC 6749 §3.2.1). */
@Injectable()
export class ClientAuthentication {
  constructor(
    private readonly file: AgentsFile,
    private readonly documents: ClientDocuments,
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>,
  ) {}

  /**
   * @param stored as at consent, or as the client is now
   * @throws OAuthError `invalid_client`; 503 if its keys could not be read for a day
   */
  async check(
    clientId: string,
    stored: StoredAuthentication,
    params: ClientParameters,
    authorization?: string,
  ): Promise<void> {
    if (stored.method === 'none') return;
    if (stored.method === 'client_secret') return this.checkSecret(clientId, params, authorization);
    const { client_assertion_type: type, client_assertion: assertion } = params;
    if (type !== ASSERTION_TYPE || assertion === undefined || assertion.length > LONGEST_ASSERTION)
      throw refused();
    const payload = await this.verify(clientId, assertion, await this.keysOf(clientId, stored));
    const { jti, exp } = payload;
    const isNew = await useOnce(this.dataSource.manager, `client ${clientId}\0${jti!}`, exp!);
    if (!isNew) throw refused();
  }

  private checkSecret(clientId: string, params: ClientParameters, authorization?: string): void {
    const basic = readBasic(authorization);
    const secret = params.client_secret ?? (basic && percentDecoded(basic.password));
    const known = this.file.clients.get(clientId)?.secretHash;
    const isRight = secret !== undefined && known && timingSafeEqual(hash('sha256', secret, 'buffer'), known);
    if (!isRight) throw refused();
  }

  private async verify(clientId: string, assertion: string, keys: JSONWebKeySet): Promise<JWTPayload> {
    const { publicUrl } = this.settings;
    const now = this.clock.now();
    try {
      const { payload } = await jwtVerify(assertion, createLocalJWKSet(keys), {
        issuer: clientId,
        subject: clientId,
        audience: [publicUrl, `${publicUrl}/`, `${publicUrl}/oauth2/token`],
        algorithms: ASSERTION_ALGORITHMS,
        requiredClaims: ['exp', 'jti'],
        clockTolerance: TOLERANCE,
        currentDate: new Date(now),
      });
      const isShort = payload.exp! <= now / 1000 + LONGEST_LIFE + TOLERANCE;
      if (isShort && typeof payload.jti === 'string' && payload.jti.length <= 255) return payload;
    } catch {
      // refused below: the reason is in the client's hands
    }
    throw refused();
  }

  /** The keys of the document now, or as they were read less than a day ago. */
  private async keysOf(clientId: string, { keys, readAt = 0 }: StoredAuthentication): Promise<JSONWebKeySet> {
    const named = this.file.clients.get(clientId)?.jwks;
    if (named) return named;
    const now = await this.documents.findRecentKeys(clientId).catch(() => undefined);
    if (now) return now.content;
    if (keys && readAt > Date.now() - DAY * 1000) return keys;
    throw new OAuthError('server_error', 'the keys of the client cannot be read', {
      status: 503,
      headers: { 'Retry-After': '60' },
    });
  }
}

function refused(): OAuthError {
  return new OAuthError('invalid_client', 'the client has not authenticated itself');
}
