import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { AuthorizationCodes } from '../../../auth/clients/authorization-codes.js';
import { buildAddress, ErrorForClient } from '../../../auth/clients/client-request.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { isProviderCode } from '../../../provider/errors/callback-codes.js';
import { agentCallback } from '../agents.feature.js';
import { isClientIdUrl } from '../clients/client-id-url.js';
import { AgentsFile, type AgentResource } from '../file/agents-file.js';
import type { AgentRequest } from './agent-request.entity.js';
import { AgentRequests } from './agent-request.store.js';
import { isLocal } from './authorize.service.js';
import type { BrowserSecret } from './browser-cookie.js';
import { challengeFor, QUESTION_CLIENT, signInAddress } from './sign-in-address.js';

/** What the page names. */
export interface Question {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** Of the client-ID URL; null: the operator has registered the program. */
  readonly host: string | null;
  readonly redirectUri: string;
  /** The program is on the person's computer, and cannot prove who it is. */
  readonly isLocal: boolean;
  /** Of the person. */
  readonly account: string;
  /** Address of a sign-in with another account. */
  readonly other: string;
  readonly resource: AgentResource;
  readonly scopes: readonly string[];
  /** Seconds. */
  readonly lifetime: number;
}

/** Answer of the person, and the address for the browser. */
export interface Answered {
  readonly isAllowed: boolean;
  readonly address: string;
}

/** The sign-in for a program, and the question that always follows it. */
@Injectable()
export class Consents {
  constructor(
    private readonly requests: AgentRequests,
    private readonly codes: AuthorizationCodes,
    private readonly file: AgentsFile,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Keeps the person who has signed in.
   * @returns false if no request of this browser waits
   * @throws ErrorForClient if the sign-in has failed, OAuthError `invalid_grant` for a code of another
   *   sign-in
   */
  async finish(
    id: string,
    browser: BrowserSecret,
    { code, error }: { readonly code?: string | undefined; readonly error?: string | undefined },
  ): Promise<boolean> {
    const request = await this.requests.find(id, browser);
    if (!request) return false;
    if (code === undefined) {
      await this.requests.end(request);
      const known = isProviderCode(error) ? error : 'server_error';
      throw new ErrorForClient(request, this.settings.publicUrl, known, {});
    }
    const { clientId, redirectUri, codeChallenge, ...verified } = await this.codes.redeem(code);
    const isOurs =
      clientId === QUESTION_CLIENT &&
      redirectUri === agentCallback(this.settings) &&
      codeChallenge === challengeFor(id, browser);
    if (!isOurs) throw new OAuthError('invalid_grant', 'the sign-in was begun in another browser');
    const { provider, identity, requestedAt } = verified;
    return this.requests.signedIn(id, browser, { provider, identity, requestedAt });
  }

  /** @returns undefined if there is no question in this browser, or not any more */
  async findQuestion(id: string, browser: BrowserSecret): Promise<Question | undefined> {
    const request = await this.requests.find(id, browser);
    const resource = request && this.file.findResource(request.resource);
    if (!resource || request.userId === null) return undefined;
    const { identity } = this.requests.verifiedOf(request);
    const { clientId, clientName: name, redirectUri, userId, passed } = request;
    const isUrl = isClientIdUrl(clientId, this.settings.production);
    return {
      id,
      userId,
      name,
      host: isUrl ? new URL(clientId).host : null,
      redirectUri,
      isLocal: isLocal(redirectUri),
      account: identity.email ?? identity.username ?? identity.providerUserId,
      other: signInAddress(this.settings, id, browser, { ...passed, prompt: 'select_account' }),
      resource,
      scopes: scopesOf(request).filter((one) => resource.scopes.has(one)),
      lifetime: this.file.sessionTtl,
    };
  }

  /**
   * @param answer.user whom the page has named
   * @param answer.ticks scopes; none: the person does not allow it
   * @returns undefined if the answer does not count
   */
  async answer(
    id: string,
    browser: BrowserSecret,
    answer: { readonly user: string; readonly ticks: readonly string[]; readonly origin: Origin },
  ): Promise<Answered | undefined> {
    const request = await this.requests.find(id, browser);
    const { user, ticks } = answer;
    if (!request || request.userId !== user) return undefined;
    const origin: Origin = { ...answer.origin, actor: { type: 'user', name: user } };
    const scope = scopesOf(request).filter((one) => ticks.includes(one));
    const { publicUrl } = this.settings;
    if (scope.length === 0) {
      if (!(await this.requests.deny(request, origin))) return undefined;
      const denied = { error: 'access_denied', error_description: 'the person has not allowed it' };
      return { isAllowed: false, address: buildAddress(request, publicUrl, denied) };
    }
    const code = await this.requests.allow(request, scope.join(' '), origin);
    if (code === undefined) return undefined;
    return { isAllowed: true, address: buildAddress(request, publicUrl, { code }) };
  }
}

function scopesOf({ scope }: AgentRequest): string[] {
  return scope.split(' ');
}
