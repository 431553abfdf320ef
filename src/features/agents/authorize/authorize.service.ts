import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { notForResource } from '../../../auth/auth.controller.js';
import {
  ErrorForClient,
  type ClientAddress,
  type ClientError,
} from '../../../auth/clients/client-request.js';
import { checkAllowed } from '../../../auth/service-endpoint.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { isHttpUri } from '../../../platform/config/urls/urls.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { programDeviceId } from '../../../platform/http/parameters/uuid.js';
import { isSameButPort } from '../../../provider/redirect-uris.js';
import { AgentClients, type AgentClient } from '../clients/agent-clients.js';
import { AgentsFile, grantedScopes, type AgentResource } from '../file/agents-file.js';
import { AgentRequests } from './agent-request.store.js';
import type { AgentAuthorizeDto } from './authorize.dto.js';
import type { BrowserSecret } from './browser-cookie.js';
import { signInAddress } from './sign-in-address.js';

/**
 * First step of a program (RFC 6749 §4.1.1): checks what it asks for, and sends the person to the sign-in.
 */
@Injectable()
export class AgentAuthorizations {
  constructor(
    private readonly clients: AgentClients,
    private readonly file: AgentsFile,
    private readonly requests: AgentRequests,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * @returns address of the sign-in
   * @throws OAuthError if the browser must not be sent to `redirect_uri`; ErrorForClient for everything else
   */
  async begin(request: AgentAuthorizeDto, browser: BrowserSecret): Promise<string> {
    const { client_id: clientId, redirect_uri: redirectUri, state = null } = request;
    if (clientId === undefined || !this.clients.isAgent(clientId)) throw this.refuseOther(request);
    const client = await this.clients.find(clientId);
    const isKnown = (one: string): boolean =>
      one === redirectUri || (isHttpUri(redirectUri) && isSameButPort(one, redirectUri));
    if (!client.redirectUris.some(isKnown)) {
      throw new OAuthError('invalid_request', 'redirect_uri is not one of the client');
    }
    const refuse = (error: ClientError, description: string): ErrorForClient =>
      new ErrorForClient({ redirectUri, state }, this.settings.publicUrl, error, { description });
    const codeChallenge = readChallenge(request, refuse);
    const resource = this.readResource(request, refuse);
    const scope = readScope(request, resource, refuse).join(' ');
    const passed = readPassed(request, refuse);
    const id = await this.requests.begin(
      {
        clientId,
        clientName: client.name,
        authentication: client.authentication,
        redirectUri,
        state,
        codeChallenge,
        resource: resource.resource,
        scope,
        passed,
        deviceId: deviceIdOf(client, redirectUri, resource, browser),
      },
      browser,
    );
    return signInAddress(this.settings, id, browser, passed);
  }

  /** Another client has sent `resource`. */
  private refuseOther(request: AgentAuthorizeDto): OAuthError | ErrorForClient {
    const { redirect_uri: redirectUri, response_type: type, state = null } = request;
    const error = notForResource();
    if (type === undefined) return error;
    checkAllowed(this.settings, {}, redirectUri);
    const client: ClientAddress = { redirectUri, state };
    const { description } = error;
    return new ErrorForClient(client, this.settings.publicUrl, 'invalid_target', { description });
  }

  private readResource({ resource }: AgentAuthorizeDto, refuse: Refuse): AgentResource {
    const found = typeof resource === 'string' ? this.file.findResource(resource) : undefined;
    if (found) return found;
    throw refuse(
      'invalid_target',
      'resource is required once, as one of protected_resources in the metadata',
    );
  }
}

type Refuse = (error: ClientError, description: string) => ErrorForClient;

/** Only the code flow with PKCE is supported (RFC 9700 §2.1.1). */
function readChallenge(request: AgentAuthorizeDto, refuse: Refuse): string {
  const { response_type: type, response_mode: mode = 'query' } = request;
  if (type !== 'code') throw refuse('unsupported_response_type', 'response_type must be code');
  if (mode !== 'query') throw refuse('invalid_request', 'only response_mode query is supported');
  const { code_challenge: challenge = '', code_challenge_method: method } = request;
  if (method === 'S256' && /^[A-Za-z0-9_-]{43}$/.test(challenge)) return challenge;
  throw refuse('invalid_request', 'code_challenge with code_challenge_method=S256 is required');
}

function readScope({ scope }: AgentAuthorizeDto, resource: AgentResource, refuse: Refuse): readonly string[] {
  const known = grantedScopes(scope, resource);
  if (known.length > 0) return known;
  throw refuse('invalid_scope', 'the resource has none of these scopes');
}

/** Parameters for the sign-in. The question is this service's, and comes always. */
function readPassed(request: AgentAuthorizeDto, refuse: Refuse): Readonly<Record<string, string>> {
  const { login_hint, max_age, acr_values, ui_locales, claims_locales, domain_hint, hd, provider } = request;
  const prompts = (request.prompt ?? '').split(' ').filter((one) => one !== '' && one !== 'consent');
  if (prompts.includes('none')) throw refuse('interaction_required', 'the person must answer a question');
  const prompt = prompts.length > 0 ? prompts.join(' ') : undefined;
  const all = {
    login_hint,
    max_age,
    acr_values,
    ui_locales,
    claims_locales,
    domain_hint,
    hd,
    provider,
    prompt,
  };
  return Object.fromEntries(
    Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined),
  );
}

/** Whether a redirect URI leads to a program on the person's computer, which cannot prove who it is. */
export function isLocal(redirectUri: string): boolean {
  return /^http:/i.test(redirectUri);
}

/** One device for a program and an API; for a program on a computer, one on each. */
function deviceIdOf(
  { clientId }: AgentClient,
  redirectUri: string,
  { resource }: AgentResource,
  browser: BrowserSecret,
): string {
  const computer = isLocal(redirectUri) ? browser.derive('device').toString('hex') : '';
  return programDeviceId(hash('sha256', JSON.stringify([clientId, resource, computer]), 'buffer'));
}
