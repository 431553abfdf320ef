import { LatchkeyError, noAnswer, type ErrorBody } from '../latchkey-error.js';
import type { ServiceCall } from '../session.js';
import { after } from './timer.js';

/** Seconds; the service allows its provider 5. */
const TIMEOUT = 10;

/**
 * Calls an endpoint of the service.
 * @param path with its query, e.g. `/oauth2/authorize?…`
 * @param body sent as JSON
 * @param send sends the request, e.g. with a token
 * @returns the answer's body; undefined for 204
 * @throws LatchkeyError the service's code and status; `network` without an answer in 10 s, or for a redirect, which the service
 *   never sends
 */
export type Call = <Answer>(
  method: string,
  path: string,
  body?: object,
  send?: (request: Request) => Promise<Response>,
) => Promise<Answer>;

/** @param onDate gets the `Date` header of each answer, and the milliseconds since the request, a sleep of the device included */
export function makeCall(
  url: string,
  onDate: (date: string | null, took: number) => void,
  onDone: (call: ServiceCall) => void,
): Call {
  return async <Answer>(
    method: string,
    path: string,
    body?: object,
    send: (request: Request) => Promise<Response> = (request) => fetch(request),
  ) => {
    const begun = performance.now();
    const sentAt = Date.now();
    const timeout = new AbortController();
    const cancel = after(TIMEOUT, () => timeout.abort());
    let status: number | undefined;
    try {
      const response = await send(
        new Request(url + path, {
          method,
          redirect: 'error', // a 307 would send body and token to any address
          // The page may be left right after a sign-out or a report. A refresh ends with its page: another tab gets the lock.
          keepalive: !/^\/oauth2\/(refresh|token)/.test(path),
          signal: timeout.signal,
          ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
        }),
      );
      ({ status } = response);
      onDate(response.headers.get('Date'), Date.now() - sentAt);
      return await read<Answer>(response);
    } catch (error) {
      throw error instanceof LatchkeyError ? error : noAnswer(error);
    } finally {
      cancel();
      const duration = performance.now() - begun;
      onDone({ method, path: path.split('?')[0]!, ...(status && { status }), duration });
    }
  };
}

async function read<Answer>(response: Response): Promise<Answer> {
  const { status, ok, headers } = response;
  const text = await response.text();
  if (status === 204) return undefined as Answer;
  let body: ErrorBody | undefined;
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    // a page of a gateway or of a hotel's network
  }
  if (ok && body) return body as Answer;
  throw new LatchkeyError(
    body?.error ?? 'unexpected_answer',
    body?.error_description,
    status,
    readRetryAfter(headers.get('Retry-After')),
    body,
  );
}

/** Seconds, or a date (RFC 9110 §10.2.3). At most a day: a timer of more than 24 days fires at once. */
function readRetryAfter(header: string | null): number | undefined {
  const seconds = header && (+header || (Date.parse(header) - Date.now()) / 1000);
  return seconds && seconds > 0 ? Math.min(seconds, 86_400) : undefined;
}
