import { LatchkeyError, temporarilyUnavailable } from '../latchkey-error.js';
import { refusesKey, type Right, type ServiceKey } from './service-key.js';

/** Characters; far above the answers to these calls. */
const LONGEST_ANSWER = 65_536;

export interface Call {
  /** Default `POST`. */
  readonly method?: 'GET' | 'PUT';
  readonly right: Right;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Whether it is repeated, once, after a broken connection: an idle one may be closed just when it is used. */
  readonly isRepeatable?: boolean;
}

/** Calls the service with the service key. */
export class ServiceCalls {
  constructor(
    private readonly url: string,
    private readonly serviceKey: ServiceKey | undefined,
  ) {}

  /**
   * @returns the answer's JSON; undefined for 204
   * @throws LatchkeyError `temporarily_unavailable` without an answer, for 5xx and 429; `service_key_refused`; otherwise the
   *   service's error. TypeError for invalid JSON or headers
   */
  async send<Answer>(path: string, call: Call): Promise<Answer> {
    const { serviceKey, url } = this;
    const { method = 'POST' } = call;
    if (serviceKey === undefined)
      throw new TypeError('this call needs a serviceKey: pass one to createVerifier()');
    // Before the request: invalid parameters are the caller's mistake.
    const headers = new Headers({
      ...call.headers,
      ...serviceKey.header,
      'Content-Type': 'application/json',
    });
    const body = method === 'GET' ? null : JSON.stringify(call.body ?? {});
    const signal = AbortSignal.timeout(call.timeoutMs);
    const send = async (): Promise<[Response, string]> => {
      const response = await fetch(url + path, {
        method,
        headers,
        body,
        redirect: 'error', // the key is for the service alone
        signal,
      });
      return [response, await readText(response)];
    };
    const [response, text] = await send()
      .catch((error: unknown) => {
        if (!call.isRepeatable || signal.aborted) throw error;
        return send();
      })
      .catch((error: unknown) => {
        throw temporarilyUnavailable(error);
      });
    if (refusesKey(response.status)) throw serviceKey.refused(response.status, call.right);
    return readAnswer(response, text) as Answer;
  }
}

/** @throws RangeError for more than 64 KiB */
export async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > LONGEST_ANSWER) throw new RangeError('the answer is too long');
  }
  return text + decoder.decode();
}

function readAnswer({ status, headers }: Response, text: string): object | undefined {
  if (status === 204) return undefined;
  const answer = parseObject(text);
  if (status >= 200 && status < 300 && answer) return answer;
  const { error, error_description: description } = answer ?? {};
  if (status >= 400 && status < 500 && status !== 429 && typeof error === 'string')
    throw new LatchkeyError(error, status, typeof description === 'string' ? description : '');
  const cause = new Error(`the service answered with ${status}`);
  throw temporarilyUnavailable(cause, headers.get('retry-after') ?? undefined);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // a page of a gateway
  }
}
