import { OAuthError } from '../../errors/oauth-error.js';
import { isAway } from '../../provider/transport/provider-answer.js';
import { addressOf, type ClientRequest } from './client-request.js';

/** Error codes in the redirect to a stock client (RFC 6749 §4.1.2.1). */
export type ClientError =
  | 'unsupported_response_type'
  | 'invalid_request'
  | 'access_denied'
  | 'temporarily_unavailable'
  | 'server_error';

interface Options {
  readonly error: ClientError;
  /** Fixed text in printable ASCII, for developers; never a provider's (contract §4). */
  readonly description?: string;
  /** Logged, never sent. */
  readonly cause?: unknown;
}

/** Error that is sent to the client, at a redirect URI that was verified. */
export class ErrorForClient extends Error {
  override readonly name = 'ErrorForClient';
  readonly error: ClientError;
  /** Redirect URI with the error. */
  readonly address: string;

  /** @param issuer PUBLIC_URL (RFC 9207) */
  constructor(client: Pick<ClientRequest, 'redirectUri' | 'state'>, issuer: string, options: Options) {
    const { error, description } = options;
    super(`the client is told: ${error}`, 'cause' in options ? { cause: options.cause } : undefined);
    this.error = error;
    this.address = addressOf(client, issuer, {
      error,
      ...(description !== undefined && { error_description: description }),
    });
  }
}

/** Error code for a fault of the service or of the provider. */
export function toldOf(fault: unknown): ClientError {
  return fault instanceof OAuthError && isAway(fault.cause) ? 'temporarily_unavailable' : 'server_error';
}
