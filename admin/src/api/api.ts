import { LatchkeyError } from '@latchkey/client';
import { latchkey } from '../client.js';

/** Milliseconds after which a request without an answer fails. */
const TIMEOUT = 20_000;
/** Of work of a feature on many rows, and of a file until all of it has come. @public */
export const LONG_TIMEOUT = 600_000;

/** An answer that is an error, or none. `message` is a sentence for people. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    readonly status: number,
    message: string,
    /** Id of the user whom the one asked for has become part of. */
    readonly mergedInto?: string,
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
export async function call<Answer>(
  path: string,
  method = 'GET',
  body?: object,
  timeout = TIMEOUT,
): Promise<Answer> {
  const response = await answerTo(path, timeout, {
    method,
    ...(body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
  });
  if (response.status === 204) return undefined as Answer;
  return (await response.json().catch(() => ({}))) as Answer;
}

/** Loads a file as the signed-in person. @throws ApiError */
export async function load(path: string): Promise<Blob> {
  const response = await answerTo(path, LONG_TIMEOUT);
  return response.blob().catch((error: unknown) => {
    throw unreachable(error, LONG_TIMEOUT);
  });
}

async function answerTo(path: string, timeout: number, init?: RequestInit): Promise<Response> {
  const response = await latchkey
    .fetch(path, { ...init, signal: AbortSignal.timeout(timeout) })
    .catch((error: unknown) => {
      throw unreachable(error, timeout);
    });
  if (response.ok) return response;
  throw refusal(response, (await response.json().catch(() => ({}))) as Refusal);
}

function unreachable(error: unknown, timeout: number): ApiError {
  if (error instanceof LatchkeyError && error.code !== 'network')
    return new ApiError(error.code, 401, error.message);
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return new ApiError('network', 0, `Latchkey has not answered for ${timeout / 1000} seconds.`);
  return new ApiError('network', 0, 'Latchkey cannot be reached.');
}

interface Refusal {
  readonly error?: string;
  readonly error_description?: string;
  readonly merged_into?: string;
}

function refusal(
  { status, headers }: Response,
  { error, error_description, merged_into }: Refusal,
): ApiError {
  const after = headers.get('Retry-After');
  const sentence = error_description
    ? `${error_description[0]!.toUpperCase()}${error_description.slice(1)}.`
    : `The answer was ${status}.`;
  const wait = status === 429 && after ? ` Try again in ${after} s.` : '';
  return new ApiError(error ?? 'server_error', status, sentence + wait, merged_into);
}
