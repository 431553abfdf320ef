import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { SignInSteps } from '../../../auth/extensions/sign-in-steps.js';
import { knownIdentity } from '../../../auth/sign-in/known-identity.js';
import { SignInRefusals } from '../../../auth/sign-in/sign-in-refusals.js';
import { SignInService } from '../../../auth/sign-in/sign-in.service.js';
import type { DelegatedTokens } from '../../../auth/token.dto.js';
import { TokenGrant, type GrantCall, type Verified } from '../../../extensions.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Clock } from '../../../platform/database/clock.js';
import { DatabaseBusy } from '../../../platform/database/limits.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { programDeviceId } from '../../../platform/http/parameters/uuid.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { DpopProofs } from '../../../token/dpop/dpop-proofs.js';
import { UserStore } from '../../../user/user.store.js';
import { AgentClients, type AgentClient } from '../clients/agent-clients.js';
import { ClientAuthentication } from '../clients/client-authentication.js';
import { Permissions } from '../devices/permissions.js';
import { requireClientId, requireSameResource, withoutMethods } from '../tokens/agent-code.grant.js';
import { Assertions, badAssertion, type Assertion } from './assertions.js';
import { IdJagDto } from './id-jag.dto.js';
import { SharedSessions } from './shared-sessions.js';

/**
 * An identity assertion at POST /oauth2/token (RFC 7523 §2.1): the provider lets a program act for a user.
 */
@Injectable()
@TokenGrant({ grantType: 'urn:ietf:params:oauth:grant-type:jwt-bearer', dto: IdJagDto })
export class IdJagGrant implements TokenGrant<IdJagDto> {
  constructor(
    private readonly clients: AgentClients,
    private readonly authentication: ClientAuthentication,
    private readonly assertions: Assertions,
    private readonly permissions: Permissions,
    private readonly providers: ProviderRegistry,
    private readonly proofs: DpopProofs,
    private readonly refusals: SignInRefusals,
    private readonly sessions: SharedSessions,
    private readonly signIns: SignInService,
    private readonly steps: SignInSteps,
    private readonly users: UserStore,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** @throws OAuthError; an error before the token does not use the assertion up */
  async issue(params: IdJagDto, { dpop, origin, authorization }: GrantCall): Promise<DelegatedTokens> {
    const { client, assertion } = await this.refusals.watch({ origin }, async () => {
      const proof = await this.proofs.validate(dpop);
      const found = await this.authenticate(params, authorization);
      const { clientId } = found;
      return {
        client: found,
        assertion: await this.assertions.verify(params.assertion, { clientId, proof }),
      };
    });
    const { provider, resource, scopes } = assertion;
    const { clientId, name: clientName, authentication } = client;
    const delegation = this.permissions.of({
      clientId,
      resource: resource.resource,
      scope: scopes.join(' '),
    })!;
    const { audience, scope } = delegation;
    const deviceId = deviceIdOf(clientId, audience);
    const device = { device_id: deviceId, device_name: clientName };
    const verified = await this.refusals.watch({ origin, provider, deviceId }, () => {
      if (params.resource !== undefined) requireSameResource(params.resource, audience);
      return this.identify(assertion);
    });
    const { identity, requestedAt } = await this.steps.check(verified, origin, device);
    const { authTime, sessionExpiry, providerUserId } = identity;
    const ttl = this.settings.accessTokenTtl;
    const now = this.clock.now();
    const [allowedAt, endsAt] = [new Date(now), new Date(now + ttl * 1000)];
    const facts = { deviceId, clientId, clientName, authentication, resource: audience, scope };
    const agent = { ...facts, provider, refusedAt: null, allowedAt, endsAt };
    const exchange = {
      userId: deriveUserId(provider, providerUserId),
      assertion,
      device: agent,
      requestedAt,
      content: {
        delegation,
        authentication: authTime === null ? undefined : { auth_time: Math.floor(authTime) },
        latest: sessionExpiry ?? undefined,
      },
    };
    const known = { origin, provider, providerUserId, userId: exchange.userId, deviceId };
    const share = () => this.refusals.watch(known, () => this.sessions.issue(exchange));
    let issued = await share();
    if (!issued) {
      // Begins the session. No client gets its first token: the assertion is not used up with it.
      const begun = withoutMethods({ provider, identity, requestedAt });
      const delegated = { delegation, ttl };
      await this.signIns.issue(begun, device, {
        proof: undefined,
        origin,
        delegated,
        facts: { agent, isAsserted: true },
      });
      issued = await share();
    }
    if (!issued) throw new DatabaseBusy('the session ended at once');
    return { access_token: issued.token, token_type: 'Bearer', expires_in: issued.expiresIn, scope };
  }

  metadata(): object {
    return { authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'] };
  }

  /** @throws OAuthError `invalid_client`, also for a client that cannot prove who it is */
  private async authenticate(params: IdJagDto, authorization: string | undefined): Promise<AgentClient> {
    const client = await this.clients.find(requireClientId(params, authorization));
    const { clientId, authentication } = client;
    if (authentication.method === 'none') {
      throw new OAuthError('invalid_client', 'assertions need a client with a secret or a key');
    }
    await this.authentication.check(clientId, authentication, params, authorization);
    return client;
  }

  /** An assertion has few claims, so whom the service knows stays as the last sign-in has made them. */
  private async identify({ provider, claims, issuedAt }: Assertion): Promise<Verified> {
    const said = await this.providers
      .get(provider)
      .identityIn(claims)
      .catch((error: unknown) => {
        throw error instanceof OAuthError ? badAssertion(error.reason) : error;
      });
    const user = await this.users.find(deriveUserId(provider, said.providerUserId));
    const known = user && user.lastSeenAt !== null ? knownIdentity(user) : said;
    const { authTime, sessionExpiry } = said;
    const subject = known.subject ?? said.subject;
    // Of before an end of all sessions, it is worth nothing.
    const requestedAt = Math.min(this.clock.now(), issuedAt * 1000);
    return { provider, identity: { ...known, subject, authTime, sessionExpiry }, requestedAt };
  }
}

/** Other than that of the user's own consent: each ends alone. */
function deviceIdOf(clientId: string, resource: string): string {
  return programDeviceId(hash('sha256', JSON.stringify(['id-jag', clientId, resource]), 'buffer'));
}
