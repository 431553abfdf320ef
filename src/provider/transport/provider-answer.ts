import { isObject } from '../../platform/http/parameters/json.js';
import type { ProviderResponse } from './provider-http.js';

type Answer = Readonly<Record<string, unknown>>;
type Response = Pick<ProviderResponse, 'url' | 'status' | 'body'>;

/** Request to a provider, as the log describes it. */
export interface ProviderCall {
  /** Without user info, query and fragment. */
  readonly url: string;
  readonly status?: number;
  /** `error` and `error_description` of the provider, not validated. */
  readonly error?: unknown;
  readonly description?: unknown;
  /** Settings to look at, if the error code does not say which. */
  readonly settings?: readonly string[];
}

/**
 * Error codes of products, instead of the codes of RFC 6749 §5.2; GitHub and Slack send them with status 200,
 * Facebook as numbers.
 */
export const PRODUCT_CODES: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  ['bad_verification_code', 'invalid_grant'], // GitHub
  ['redirect_uri_mismatch', 'invalid_grant'],
  ['incorrect_client_credentials', 'invalid_client'],
  ['invalid_code', 'invalid_grant'], // Slack
  ['code_already_used', 'invalid_grant'],
  ['bad_redirect_uri', 'invalid_grant'],
  ['bad_client_secret', 'invalid_client'],
  ['invalid_client_id', 'invalid_client'],
  [100, 'invalid_grant'], // Facebook
  [1, 'invalid_client'],
  [101, 'invalid_client'],
]);

/**
 * Parses a provider's answer to a code. An error is recognised by its code, not by content type or status
 * (docs/provider-contract.md#implement-the-contract).
 * @throws ProviderRefusal if the answer has an `error`; another error if its status is not 200
 */
export function readAnswer(response: Response, codes: ReadonlyMap<unknown, string> = new Map()): Answer {
  const answer = readObject(response);
  const { error } = answer;
  const status = `the provider answered with status ${response.status}`;
  const code = isObject(error) ? error['code'] : error;
  if (error) throw new ProviderRefusal(codes.get(code) ?? error, status, toCall(response));
  if (response.status !== 200) throw badAnswer(`${status} and no error code`, response);
  return answer;
}

/**
 * Returns the JSON object of an answer.
 * @throws an error that does not quote the answer, which may contain tokens
 */
export function readObject(response: Response): Answer {
  const value = parseJson(response.body);
  if (value === undefined) throw badAnswer('the provider answered with something that is not JSON', response);
  if (!isObject(value)) {
    throw badAnswer('the provider answered with JSON that is not an object', response);
  }
  return value;
}

/** Parses JSON in UTF-8. Other bytes are rejected, since ids are compared byte for byte. */
function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** Refusal by the provider; `Provider` maps `error`. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';

  /** @param error a code of spec §7.3, or any other value that the provider sent */
  constructor(
    readonly error: unknown,
    message: string,
    readonly call?: ProviderCall,
  ) {
    const isCode = typeof error === 'string' && /^[a-z_]{1,64}$/.test(error);
    super(`${message}: ${isCode ? error : 'an unknown error'}`);
  }
}

/** Error for an answer that is unusable and no refusal. */
export function badAnswer(message: string, response: Response): Error {
  return Object.assign(new Error(message), { call: toCall(response) });
}

/** Returns the request that an error, or one of its causes, is about. */
export function findCall(error: unknown): ProviderCall | undefined {
  return chain(error).find(({ call }) => call !== undefined)?.call;
}

/** Codes of Node.js, axios and undici. */
const AWAY =
  /^(?:E(?:CONNREFUSED|CONNRESET|CONNABORTED|HOSTUNREACH|NETUNREACH|NOTFOUND|PIPE|TIMEDOUT|AI_AGAIN)|UND_ERR_(?:CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|SOCKET))$/;

/** Whether an error, or one of its causes, means that a provider is away or slow. */
export function isAway(error: unknown): boolean {
  return chain(error).some(({ code }) => typeof code === 'string' && AWAY.test(code));
}

interface Link {
  readonly call?: ProviderCall;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** An error and its causes, at most eight: they may form a circle. */
function chain(error: unknown): Link[] {
  const links: Link[] = [];
  for (let at = error; typeof at === 'object' && at !== null && links.length < 8; at = (at as Link).cause) {
    links.push(at);
  }
  return links;
}

function toCall({ url, status, body }: Response): ProviderCall {
  const answer = (parseJson(body) ?? {}) as Answer;
  const { error, error_description: description } = isObject(answer['error'])
    ? { error: answer['error']['type'], error_description: answer['error']['message'] } // Facebook
    : answer;
  return error ? { url, status, error, description } : { url, status };
}
