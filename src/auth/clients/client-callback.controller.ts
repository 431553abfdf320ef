import { Body, Controller, Get, Inject, Param, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { type Origin, RequestOrigin } from '../../audit/audit-event.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { RateLimit } from '../../platform/http/rate-limit.js';
import { isProviderCode } from '../../provider/errors/callback-codes.js';
import { wordsOf } from '../../provider/errors/log-line.js';
import type { Provider } from '../../provider/provider.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { postsCode } from '../../provider/redirect-uris.js';
import { ProviderRefusal } from '../../provider/transport/provider-answer.js';
import { deriveUserId } from '../../identity/user-id.js';
import { Public } from '../../platform/http/access.js';
import { UserStore } from '../../user/user.store.js';
import { otherKindOfSignIn } from '../auth.service.js';
import { SignInSteps, type Verified } from '../extensions/sign-in-steps.js';
import { toOAuthError } from '../sign-in/sign-in.store.js';
import { SignInRefusals } from '../sign-in/sign-in-refusals.js';
import { StateService, testState, type SpentSignIn } from '../states/state.service.js';
import { AuthorizationCodes } from './authorization-codes.js';
import { ClientErrorFilter } from './client-error.filter.js';
import {
  buildAddress,
  ErrorForClient,
  toClientError,
  withQuery,
  type ClientRequest,
} from './client-request.js';
import { ClientCallbackDto } from './clients.dto.js';
import { refuseHead, sendNext } from './send-next.js';
import { findWayBack } from './way-back.js';

/** Callback of each provider in a sign-in for a stock OAuth client (docs/stock-clients.md#the-endpoints). */
@Public()
@Controller('providers/:name')
@UseFilters(new ClientErrorFilter(() => true))
export class ClientCallbackController {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: StateService,
    private readonly codes: AuthorizationCodes,
    private readonly steps: SignInSteps,
    private readonly refusals: SignInRefusals,
    private readonly users: UserStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Receive the callback of a provider, for a stock OAuth client
   *
   * The address to register with the provider. The browser is redirected to the client, with a code that
   * Latchkey issues, the client’s `state` and `iss`, or with an error.
   *
   * @returns {302} To the client.
   * @throws OAuthError `invalid_grant`, `not_found`
   */
  @Get('callback')
  @RateLimit('token')
  async providerCallback(
    @Param('name') name: string,
    @Query() params: ClientCallbackDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
    @RequestOrigin() origin: Origin,
  ): Promise<string> {
    refuseHead(request);
    response.locals['wayBack'] = findWayBack(this.settings, request);
    const address = await this.finish(this.findProvider(name, params), params, origin);
    return sendNext({ address }, response);
  }

  /**
   * Receive the callback of a provider that sends it by POST
   *
   * For providers with `response_mode` `form_post` (Apple). A stock OAuth client gets a code of Latchkey, as
   * after GET. For a client of the specification, the browser is redirected to the `redirect_uri` of the
   * authorization request with the provider’s answer, which the client sends to `/oauth2/token`; as a test
   * of a sign-in does.
   *
   * @returns {303} To the client.
   * @throws OAuthError `invalid_grant`, `not_found`
   */
  @Post('callback')
  @RateLimit('token')
  async postedCallback(
    @Param('name') name: string,
    @Body() params: ClientCallbackDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
    @RequestOrigin() origin: Origin,
  ): Promise<string> {
    response.locals['wayBack'] = findWayBack(this.settings, request);
    const provider = this.findProvider(name, params);
    if (!postsCode(provider.settings)) {
      throw new OAuthError('method_not_allowed', 'the provider answers by GET', {
        headers: { Allow: 'GET' },
      });
    }
    const { code, error, error_description, state, iss } = params;
    const signIn = (await this.states.peek(state)) ?? (await this.states.peek(testState(state)));
    const isOfSpecification = signIn?.provider === name && signIn.clientRequest === null;
    // The client of the specification gets what it would have got in its query; Apple's `user` is not passed
    // on.
    const address = isOfSpecification
      ? withQuery(signIn.redirectUri, { code, error, error_description, state, iss })
      : await this.finish(provider, params, origin);
    sendNext({ address }, response);
    response.status(303); // a browser repeats a POST after some other redirects (RFC 9700 §4.12)
    return '';
  }

  private findProvider(name: string, params: ClientCallbackDto): Provider {
    const provider = this.providers.find(name);
    if (!provider) throw new OAuthError('not_found', 'there is nothing at this path');
    if ([params.code, params.ticket, params.error].every((one) => one === undefined)) {
      throw new OAuthError('invalid_request', 'code is required');
    }
    return provider;
  }

  /** Spends the state of a stock client's sign-in. @returns redirect URI of the client, with a code */
  private async finish(provider: Provider, params: ClientCallbackDto, origin: Origin): Promise<string> {
    const { name } = provider.settings;
    const { client, signIn } = await this.refusals.watch({ origin }, async () => {
      const { clientRequest, ...pending } = await this.states.consume(params.state);
      if (clientRequest === null) throw otherKindOfSignIn();
      // Each provider has its own callback, against mix-up (RFC 9700 §4.4.2.2).
      if (pending.provider !== name) throw new OAuthError('invalid_grant', 'state is of another provider');
      return { client: clientRequest, signIn: pending };
    });
    const known = { origin, provider: name };
    const verified = await this.refusals.watch(known, () =>
      this.forClient(client, () => this.verify(provider, client, signIn, params)),
    );
    const admitted = await this.forClient(client, () => this.steps.check(verified, origin));
    await this.forClient(client, () => this.refuseSuspended(admitted, origin));
    const code = await this.refusals.watch(known, () =>
      this.forClient(client, () => this.codes.issue(client, admitted)),
    );
    return buildAddress(client, this.settings.publicUrl, { code });
  }

  /** The client learns it here; the redemption of a code looks again. */
  private async refuseSuspended({ provider, identity }: Verified, origin: Origin): Promise<void> {
    const { providerUserId } = identity;
    const userId = deriveUserId(provider, providerUserId);
    await this.refusals.watch({ origin, provider, providerUserId, userId }, async () => {
      const user = await this.users.find(userId);
      if (user?.suspendedAt) throw toOAuthError('suspended');
    });
  }

  /** Runs a step; its error is sent to the client. @throws ErrorForClient */
  private async forClient<T>(client: ClientRequest, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (cause) {
      if (cause instanceof ErrorForClient) throw cause;
      throw new ErrorForClient(client, this.settings.publicUrl, toClientError(cause), { cause });
    }
  }

  private async verify(
    provider: Provider,
    client: ClientRequest,
    { redirectUri, memory, requestedAt }: Pick<SpentSignIn, 'redirectUri' | 'memory' | 'requestedAt'>,
    params: ClientCallbackDto,
  ): Promise<Verified> {
    const { code, ticket, state, iss, error } = params;
    if (error !== undefined) throw await this.toError(provider, client, params, error);
    const request = { code: (code ?? ticket)!, state, redirectUri, iss, memory }; // findProvider found one
    const identity = await provider.exchange(request, true);
    return { provider: provider.settings.name, identity, requestedAt };
  }

  /** Makes the error for the client of the one that the provider's callback has. */
  private async toError(
    provider: Provider,
    client: ClientRequest,
    { state, iss, error_description: description }: ClientCallbackDto,
    error: string,
  ): Promise<ErrorForClient> {
    await provider.checkIssuer(iss);
    const { publicUrl } = this.settings;
    const reason = wordsOf(error, description, [state]);
    if (isProviderCode(error)) return new ErrorForClient(client, publicUrl, error, { reason });
    provider.warnOfCallback(error, description, [state]);
    const cause = new ProviderRefusal(error, 'the callback says');
    return new ErrorForClient(client, publicUrl, 'server_error', { cause, reason });
  }
}
