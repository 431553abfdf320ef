import { LatchkeyError, temporarilyUnavailable } from '../latchkey-error.js';
import { refusesKey, type Right, type ServiceKey } from './service-key.js';

const TIMEOUT_MS = 5000;
/** Characters; far above the answers to these calls. */
const LONGEST_ANSWER = 65_536;
/** Of a page: 1,000 audit events, or 200 users with their claims. */
const LONGEST_PAGE = 16_777_216;

export interface Call {
  /** Default `POST`. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly right: Right;
  /** An object, or its JSON. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default 5 s. */
  readonly timeoutMs?: number;
  /** Whether it is repeated, once, after a broken connection: an idle one may be closed just when it is used. */
  readonly isRepeatable?: boolean;
}

/** Calls the service with the service key. */
export class ServiceCalls {
  constructor(
    readonly url: string,
    private readonly key: ServiceKey | undefined,
  ) {}

  /** @throws TypeError without a service key */
  get serviceKey(): ServiceKey {
    if (this.key === undefined)
      throw new TypeError('this call needs a serviceKey: pass one to createVerifier()');
    return this.key;
  }

  /**
   * @returns the answer's JSON; undefined for 204
   * @throws LatchkeyError `temporarily_unavailable` without an answer, for 5xx and 429; `service_key_refused`; otherwise the
   *   service's error. TypeError for invalid JSON or headers
   */
  async send<Answer>(path: string, call: Call): Promise<Answer> {
    const { serviceKey, url } = this;
    const { method = 'POST' } = call;
    // Before the request: invalid parameters are the caller's mistake.
    const headers = new Headers({
      ...call.headers,
      ...serviceKey.header,
      'Content-Type': 'application/json',
    });
    const json = typeof call.body === 'string' ? call.body : JSON.stringify(call.body ?? {});
    const body = method === 'GET' ? null : json;
    const signal = AbortSignal.timeout(call.timeoutMs ?? TIMEOUT_MS);
    const send = async (): Promise<[Response, string]> => {
      const response = await fetch(url + path, {
        method,
        headers,
        body,
        redirect: 'manual', // the key is for the service alone
        signal,
      });
      return [response, await readText(response, method === 'GET' ? LONGEST_PAGE : LONGEST_ANSWER)];
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

/** @throws RangeError for a longer answer @param longest characters */
export async function readText(response: Response, longest = LONGEST_ANSWER): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > longest) throw new RangeError('the answer is too long');
  }
  return text + decoder.decode();
}

/** @throws LatchkeyError for another status than 2xx, and for an answer that is no JSON */
export function readAnswer({ status, headers }: Response, text: string): object | undefined {
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
