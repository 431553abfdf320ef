import { Inject, Injectable } from '@nestjs/common';
import { otherRedirectUri } from '../../../auth/auth.service.js';
import { SignInRefusals } from '../../../auth/sign-in/sign-in-refusals.js';
import { SignInService } from '../../../auth/sign-in/sign-in.service.js';
import { requireUnchangedClaims } from '../../../auth/sign-in/unchanged-claims.js';
import type { DelegatedTokens } from '../../../auth/token.dto.js';
import { TokenGrant, type GrantCall, type Verified } from '../../../extensions.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Clock } from '../../../platform/database/clock.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { challengeOf } from '../../../provider/adapters/authorization-request.js';
import type { Delegation } from '../../../token/access-tokens/access-token.js';
import { normalizeResource } from '../../../token/access-tokens/audiences.js';
import { DpopProofs } from '../../../token/dpop/dpop-proofs.js';
import { UserStore } from '../../../user/user.store.js';
import type { AgentRequest } from '../authorize/agent-request.entity.js';
import { AgentRequests, CODE_PREFIX } from '../authorize/agent-request.store.js';
import {
  ASSERTION_ALGORITHMS,
  ClientAuthentication,
  readClientId,
} from '../clients/client-authentication.js';
import { Permissions } from '../devices/permissions.js';
import { AgentsFile } from '../file/agents-file.js';
import { AgentCodeDto, type AgentTokenDto } from './agent-token.dto.js';

/** The code of a program at POST /oauth2/token (RFC 6749 §4.1.3). */
@Injectable()
@TokenGrant({ prefix: CODE_PREFIX, dto: AgentCodeDto })
export class AgentCodeGrant implements TokenGrant<AgentCodeDto> {
  constructor(
    private readonly requests: AgentRequests,
    private readonly authentication: ClientAuthentication,
    private readonly permissions: Permissions,
    private readonly proofs: DpopProofs,
    private readonly signIns: SignInService,
    private readonly refusals: SignInRefusals,
    private readonly users: UserStore,
    private readonly file: AgentsFile,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * @throws OAuthError; after the client's authentication the code is spent, since it may have been stolen
   */
  async issue(params: AgentCodeDto, { dpop, origin, authorization }: GrantCall): Promise<DelegatedTokens> {
    const { proof, request, delegation } = await this.refusals.watch({ origin }, async () => ({
      proof: await this.proofs.validate(dpop), // first: a bad one spends no code
      ...(await this.redeem(params, authorization)),
    }));
    const { clientId, deviceId, clientName, authentication, browser } = request;
    // BINDING: a stolen refresh token must be useless without a key or a secret.
    const isRefreshed = this.settings.binding === 'optional' || proof || authentication.method !== 'none';
    const ttl = isRefreshed ? this.file.sessionTtl : this.settings.accessTokenTtl;
    const now = this.clock.now();
    const { audience: resource, scope } = delegation;
    const named = { deviceId, clientId, clientName, authentication, resource, scope };
    const facts = { ...named, provider: null, refusedAt: null };
    const times = { allowedAt: new Date(now), endsAt: new Date(now + ttl * 1000) };
    const verified = this.requests.verifiedOf(request);
    await this.refusals.watch({ origin, userId: request.userId!, provider: verified.provider }, () =>
      requireUnchangedClaims(this.users, verified),
    );
    const device = { device_id: deviceId, device_name: clientName };
    const tokens = await this.signIns.issue(withoutMethods(verified), device, {
      facts: { agent: { ...facts, ...times } },
      proof,
      origin: { ...origin, ...browser },
      delegated: { delegation, ttl },
    });
    const { user_id: _userId, refresh_token, refresh_token_expires_in, ...issued } = tokens;
    const refresh = isRefreshed && { refresh_token, refresh_token_expires_in: refresh_token_expires_in! };
    return { ...issued, ...refresh, scope };
  }

  metadata(): object {
    const { resources, trust } = this.file;
    return {
      ...(!trust.isEmpty && { client_id_metadata_document_supported: true }),
      scopes_supported: [...new Set(resources.flatMap(({ scopes }) => [...scopes.keys()]))],
      protected_resources: resources.map(({ resource }) => resource),
      token_endpoint_auth_methods_supported: [
        'none',
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
      ],
      token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    };
  }

  /** Spends the code, once the client has shown who it is. */
  private async redeem(
    params: AgentCodeDto,
    authorization: string | undefined,
  ): Promise<{ readonly request: AgentRequest; readonly delegation: Delegation }> {
    const clientId = requireClientId(params, authorization);
    const request = await this.requests.findByCode(params.code);
    if (!request) throw unknownCode();
    if (params.resource !== undefined) requireSameResource(params.resource, request.resource);
    const isSame = clientId === request.clientId;
    if (isSame) await this.authentication.check(clientId, request.authentication, params, authorization);
    if (!(await this.requests.spend(request))) throw unknownCode();
    if (!isSame) throw new OAuthError('invalid_grant', 'the code was issued to another client');
    if (params.redirect_uri !== request.redirectUri) throw otherRedirectUri(params.redirect_uri);
    if (challengeOf(params.code_verifier) !== request.codeChallenge) {
      throw new OAuthError('invalid_grant', 'code_verifier is wrong');
    }
    const delegation = this.permissions.of(request);
    if (!delegation) throw new OAuthError('invalid_grant', 'the program is not accepted any more');
    return { request, delegation };
  }
}

/** @throws OAuthError `invalid_client` */
export function requireClientId(params: AgentTokenDto, authorization?: string): string {
  const clientId = readClientId(params, authorization);
  if (clientId === undefined) throw new OAuthError('invalid_client', 'client_id is required');
  return clientId;
}

/** @throws OAuthError `invalid_target` */
export function requireSameResource(sent: string, granted: string): void {
  if (normalizeResource(sent) === normalizeResource(granted)) return;
  throw new OAuthError('invalid_target', 'resource differs from the granted one');
}

function unknownCode(): OAuthError {
  return new OAuthError('invalid_grant', 'the code is unknown, used or expired');
}

/** The token says when the user authenticated, and not how. */
export function withoutMethods(verified: Verified): Verified {
  return { ...verified, identity: { ...verified.identity, acr: null, amr: null } };
}
