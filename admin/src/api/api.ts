import { LatchkeyError } from '@latchkey/client';
import { latchkey } from '../client.js';

/** Milliseconds after which a request without an answer fails. */
const TIMEOUT = 20_000;

/** An answer that is an error, or none. `message` is a sentence for people. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    readonly status: number,
    message: string,
  ) {
    super(message);
  }

  /** Whether a retry may succeed. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/**
 * Calls the service as the signed-in person.
 * @returns the JSON of the answer; undefined for 204
 * @throws ApiError
 */
export async function call<Answer>(path: string, method = 'GET', body?: object): Promise<Answer> {
  const response = await latchkey
    .fetch(path, {
      method,
      signal: AbortSignal.timeout(TIMEOUT),
      ...(body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
    })
    .catch((error: unknown) => {
      throw unreachable(error);
    });
  if (response.status === 204) return undefined as Answer;
  const answer: unknown = await response.json().catch(() => ({}));
  if (response.ok) return answer as Answer;
  throw refusal(response, answer as { error?: string; error_description?: string });
}

function unreachable(error: unknown): ApiError {
  if (error instanceof LatchkeyError && error.code !== 'network')
    return new ApiError(error.code, 401, error.message);
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return new ApiError('network', 0, `Latchkey has not answered for ${TIMEOUT / 1000} seconds.`);
  return new ApiError('network', 0, 'Latchkey cannot be reached.');
}

function refusal(
  { status, headers }: Response,
  { error, error_description }: { error?: string; error_description?: string },
): ApiError {
  const after = headers.get('Retry-After');
  const sentence = error_description
    ? `${error_description[0]!.toUpperCase()}${error_description.slice(1)}.`
    : `The answer was ${status}.`;
  const wait = status === 429 && after ? ` Try again in ${after} s.` : '';
  return new ApiError(error ?? 'server_error', status, sentence + wait);
}
