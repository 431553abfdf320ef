import { hash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type ProviderSettings, type Settings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { allowsRedirectUri, providerCallback } from '../../provider/redirect-uris.js';
import { builtIn } from './built-in.js';
import type { AuthorizationPageDto } from './authorize.dto.js';

/** The sample provider's only client: this service. */
@Injectable()
export class ClientService {
  private readonly registered: ProviderSettings;

  constructor(@Inject(SETTINGS) private readonly settings: Settings) {
    this.registered = settings.providers.get(builtIn.name)!; // the module is loaded only with it
  }

  /** @throws OAuthError if the browser must not be redirected (RFC 6749 §4.1.2.1) */
  checkAuthorization({ client_id, redirect_uri, ...pkce }: AuthorizationPageDto): void {
    if (client_id !== this.registered.clientId)
      throw new OAuthError('invalid_request', 'client_id is unknown');
    // A challenge without a method would be `plain`, which hides nothing (RFC 7636 §4.3).
    if ((pkce.code_challenge === undefined) !== (pkce.code_challenge_method === undefined))
      throw new OAuthError('invalid_request', 'code_challenge needs code_challenge_method=S256');
    // The service's own callback is always allowed.
    if (redirect_uri === providerCallback(this.settings, this.registered.name)) return;
    if (!allowsRedirectUri(this.settings, this.registered, redirect_uri)) {
      throw new OAuthError('invalid_request', 'redirect_uri is not on the allow-list');
    }
  }

  /** Compares in constant time. @throws OAuthError `invalid_client` */
  authenticate(clientId: string, clientSecret: string): void {
    const idMatches = isSameText(clientId, this.registered.clientId);
    const secretMatches = isSameText(clientSecret, this.registered.clientSecret);
    if (!(idMatches && secretMatches))
      throw new OAuthError('invalid_client', 'the client credentials are wrong');
  }
}

function isSameText(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}
