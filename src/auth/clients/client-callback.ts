import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { Clock } from '../../database/clock.js';
import { OAuthError } from '../../errors/oauth-error.js';
import type { Provider } from '../../provider/provider.js';
import { ProviderRefusal } from '../../provider/transport/provider-answer.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { AuthorizationCodes } from './authorization-codes.js';
import type { ClientCallbackDto } from './clients.dto.js';
import {
  addressOf,
  clientErrorOf,
  ErrorForClient,
  type ClientError,
  type ClientRequest,
} from './client-request.js';
import { SignInRefusals } from '../auth.service.js';
import { StateService, type PendingSignIn } from '../states/state.service.js';

/** Receives the provider's answer in a sign-in for a stock OAuth client (contract §4). */
@Injectable()
export class ClientCallback {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: StateService,
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
      const signIn = await this.states.consume(params.state);
      const { clientRequest: client } = signIn;
      if (client === null) throw new OAuthError('invalid_grant', 'state is of another kind of sign-in');
      // Each provider has its own callback, against mix-up (RFC 9700 §4.4.2.2).
      if (signIn.provider !== name) throw new OAuthError('invalid_grant', 'state is of another provider');
      attempt.provider = name;
      try {
        return await this.finish(provider, client, signIn, params);
      } catch (cause) {
        if (cause instanceof ErrorForClient) throw cause;
        throw this.refusal(client, clientErrorOf(cause), cause);
      }
    });
  }

  private async finish(
    provider: Provider,
    client: ClientRequest,
    { redirectUri, memory }: PendingSignIn,
    { code, ticket, state, iss, error, error_description: description }: ClientCallbackDto,
  ): Promise<string> {
    if (error !== undefined) {
      await provider.checkIssuer(iss);
      if (isForClient(error)) throw this.refusal(client, error);
      provider.warnOfCallback(error, description);
      throw this.refusal(client, 'server_error', new ProviderRefusal(error, 'the callback says'));
    }
    const asked = this.clock.now();
    const request = {
      code: (code ?? ticket)!, // checked in receive()
      state,
      redirectUri,
      ...(iss !== undefined && { iss }),
      ...(memory !== null && { memory }),
    };
    const identity = await provider.exchange(request, true);
    const ours = await this.codes.issue(client, { provider: provider.settings.name, identity, asked });
    return addressOf(client, this.settings.publicUrl, { code: ours });
  }

  private refusal(client: ClientRequest, error: ClientError, cause?: unknown): ErrorForClient {
    return new ErrorForClient(client, this.settings.publicUrl, error, { cause });
  }
}

/** Only the provider errors that a client can act on are passed on (contract §4). */
function isForClient(error: string): error is ClientError {
  return error === 'access_denied' || error === 'temporarily_unavailable';
}
