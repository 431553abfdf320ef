import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { Clock } from '../../database/clock.js';
import { OAuthError } from '../../errors/oauth-error.js';
import type { Provider } from '../../provider/provider.js';
import { ProviderRefusal } from '../../provider/transport/provider-answer.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { AuthorizationCodes } from './authorization-codes.js';
import type { ClientCallbackDto } from './client-callback.dto.js';
import { addressOf } from './client-request.js';
import { ClientStates, type ClientSignIn } from './client-states.js';
import { ErrorForClient, toldOf } from './error-for-client.js';
import { SignInRefusals } from '../auth.service.js';

/** The way back from the provider in a sign-in for a stock OAuth client (contract §4). */
@Injectable()
export class ClientCallback {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: ClientStates,
    private readonly codes: AuthorizationCodes,
    private readonly clock: Clock,
    private readonly refusals: SignInRefusals,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * @param name provider of the callback
   * @returns redirect URI of the client, with a code
   * @throws OAuthError if the sign-in is unknown; ErrorForClient for everything else
   */
  async receive(name: string, params: ClientCallbackDto): Promise<string> {
    const provider = this.providers.find(name);
    if (!provider) throw new OAuthError('not_found', 'there is nothing at this path');
    if ([params.code, params.ticket, params.error].every((one) => one === undefined)) {
      throw new OAuthError('invalid_request', 'code is required');
    }
    return this.refusals.report(async (attempt) => {
      const signIn = await this.states.consume(params.state, name);
      attempt.provider = name;
      return this.finish(provider, signIn, params).catch((cause: unknown) => {
        if (cause instanceof ErrorForClient) throw cause;
        throw this.refusal(signIn, toldOf(cause), cause);
      });
    });
  }

  private async finish(
    provider: Provider,
    signIn: ClientSignIn,
    { code, ticket, state, iss, error, error_description: description }: ClientCallbackDto,
  ): Promise<string> {
    if (error !== undefined) {
      await provider.checkIssuer(iss);
      const told = toldOfProvider(error);
      if (told !== error) provider.warnOfCallback(error, description);
      const cause = told === error ? undefined : new ProviderRefusal(error, 'the callback says');
      throw this.refusal(signIn, told, cause);
    }
    const { client, redirectUri, memory } = signIn;
    const asked = this.clock.now();
    const request = {
      code: (code ?? ticket)!, // checked in receive()
      state,
      redirectUri,
      ...(iss !== undefined && { iss }),
      ...(memory !== null && { memory }),
    };
    const identity = await provider.exchange(request, true);
    const ours = await this.codes.issue(client, { provider: signIn.provider, identity, asked });
    return addressOf(client, this.settings.publicUrl, { code: ours });
  }

  private refusal(
    { client }: ClientSignIn,
    error: ReturnType<typeof toldOf>,
    cause?: unknown,
  ): ErrorForClient {
    return new ErrorForClient(client, this.settings.publicUrl, {
      error,
      ...(cause !== undefined && { cause }),
    });
  }
}

/** Only the provider errors that a client can act on are passed on (contract §4). */
function toldOfProvider(error: string): ReturnType<typeof toldOf> {
  return error === 'access_denied' || error === 'temporarily_unavailable' ? error : 'server_error';
}
