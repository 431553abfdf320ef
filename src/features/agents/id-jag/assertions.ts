import { Inject, Injectable } from '@nestjs/common';
import type { JWTPayload } from 'jose';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Clock } from '../../../platform/database/clock.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { isObject } from '../../../platform/http/parameters/json.js';
import { isName } from '../../../provider/identity/identity.js';
import { ProviderKeys } from '../../../provider/keys/provider-keys.js';
import { issuerIn } from '../../../provider/keys/remote-keys.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import type { DpopProof } from '../../../token/dpop/dpop-proofs.js';
import { AgentsFile, grantedScopes, type AgentResource } from '../file/agents-file.js';
import { idJagIssuers } from './id-jag.settings.js';

/** Seconds. */
const [TOLERANCE, LONGEST_LIFE] = [60, 600];

/** What a provider lets a program do for a user. Times are seconds since the epoch. */
export interface Assertion {
  readonly provider: string;
  readonly claims: JWTPayload & { readonly sub: string };
  /** Of the issuer and its `jti`. */
  readonly id: string;
  readonly issuedAt: number;
  readonly expiry: number;
  readonly resource: AgentResource;
  readonly scopes: readonly string[];
}

/** Who presents it. */
interface Presenter {
  readonly clientId: string;
  readonly proof: DpopProof | undefined;
}

/** Verifies identity assertions (draft-ietf-oauth-identity-assertion-authz-grant-04 §4.4.1). */
@Injectable()
export class Assertions {
  private readonly issuers: ReadonlyMap<string, string>;

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly keys: ProviderKeys,
    private readonly file: AgentsFile,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.issuers = idJagIssuers(settings);
  }

  /** @throws OAuthError `invalid_grant` for any fault; `server_error` (503) without the provider's keys */
  async verify(token: string, presenter: Presenter): Promise<Assertion> {
    const provider = this.issuers.get(issuerIn(token) ?? '');
    if (provider === undefined) throw badAssertion('iss is of no provider with id_jag=on');
    const { publicUrl } = this.settings;
    const now = this.clock.now() / 1000;
    const audience = [publicUrl, `${publicUrl}/`];
    const rules = { types: ['oauth-id-jag+jwt'], audience, now, tolerance: TOLERANCE };
    try {
      const keys = this.keys.of(this.providers.get(provider).settings);
      return await keys.verify(token, rules, (claims) => this.read(provider, claims, presenter, now));
    } catch (error) {
      throw error instanceof OAuthError ? error : badAssertion((error as Error).message);
    }
  }

  /** @throws an error with a fixed message */
  private read(provider: string, claims: JWTPayload, presenter: Presenter, now: number): Assertion {
    const { iss, aud, sub, iat, exp, jti, client_id: clientId, cnf, scope = '' } = claims;
    if ([aud].flat().length !== 1) throw new Error('aud has several values');
    if (clientId !== presenter.clientId) throw new Error('client_id is not the client of the request');
    if (!isName(sub) || !isName(jti)) throw new Error('sub or jti is missing or unusable');
    if (typeof iat !== 'number' || exp === undefined) throw new Error('iat or exp is missing');
    if (iat > now + TOLERANCE || exp > iat + LONGEST_LIFE) throw new Error('it is valid for too long');
    const jkt = presenter.proof?.jkt.toString('base64url');
    const isProven = jkt !== undefined && isObject(cnf) && cnf['jkt'] === jkt;
    if (cnf !== undefined && !isProven) throw new Error('cnf is of a key without a proof');
    // They may be narrower than the scopes.
    if (claims['authorization_details'] !== undefined) throw new Error('authorization_details is not known');
    const [identifier, ...others] = [claims['resource']].flat();
    const resource = typeof identifier === 'string' ? this.file.findResource(identifier) : undefined;
    if (!resource || others.length > 0) throw new Error('resource is not one API of AGENTS_FILE');
    const scopes = typeof scope === 'string' ? grantedScopes(scope, resource) : [];
    if (scopes.length === 0) throw new Error('scope has none of the scopes of the API');
    const id = `provider ${iss}\0${jti}`;
    return { provider, claims: { ...claims, sub }, id, issuedAt: iat, expiry: exp, resource, scopes };
  }
}

/** @param reason for the audit trail alone */
export function badAssertion(reason: string): OAuthError {
  return new OAuthError('invalid_grant', 'the assertion is not valid here', { reason });
}
