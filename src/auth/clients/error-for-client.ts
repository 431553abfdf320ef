import { OAuthError } from '../../errors/oauth-error.js';
import { isAway } from '../../provider/transport/provider-answer.js';
import { addressOf } from './answer-address.js';
import type { ClientRequest } from './client-request.js';

/** What a stock client is told in its redirect (RFC 6749 §4.1.2.1). */
export type ClientError =
  | 'unsupported_response_type'
  | 'invalid_request'
  | 'access_denied'
  | 'temporarily_unavailable'
  | 'server_error';

interface Options {
  readonly error: ClientError;
  /** Fixed text of our own, printable ASCII, for the client's developers; never a provider's (contract §4). */
  readonly description?: string;
  /** Logged, never sent. */
  readonly cause?: unknown;
}

/** An error of which a client may be told, since it is known who it is and where it is. */
export class ErrorForClient extends Error {
  override readonly name = 'ErrorForClient';
  readonly error: ClientError;
  /** Where the browser goes with it. */
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

/** What a client is told of a fault of ours, or of the provider's. */
export function toldOf(fault: unknown): ClientError {
  return fault instanceof OAuthError && isAway(fault.cause) ? 'temporarily_unavailable' : 'server_error';
}
