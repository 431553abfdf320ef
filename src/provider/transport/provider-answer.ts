import type { ProviderResponse } from './provider-http.js';

type Answer = Readonly<Record<string, unknown>>;
type Response = Pick<ProviderResponse, 'url' | 'status' | 'body'>;

/** What the log says of a request to a provider, beside the error that it brought (contract §6). */
export interface Asked {
  /** Without user info, query and fragment. */
  readonly url: string;
  readonly status?: number;
  /** The provider's own words, as they came. */
  readonly error?: unknown;
  readonly description?: unknown;
}

/**
 * Reads a provider's answer to a code: its JSON object, or an error with a code of spec §7.3. Pure.
 * The content type is not judged, and an error is known by its code whatever the status (contract §3).
 *
 * @param words for providers with codes of their own: the code of spec §7.3 for each
 * @throws ProviderRefusal when the answer has an `error`; any other error when it has none and its status is not 200.
 */
export function readAnswer(response: Response, words: ReadonlyMap<unknown, string> = new Map()): Answer {
  const answer = readObject(response);
  const { error } = answer;
  if (isError(error)) {
    const what = `the provider answered with status ${response.status}`;
    throw new ProviderRefusal(words.get(error) ?? error, what, askedIn(response));
  }
  if (response.status !== 200) {
    throw badAnswer(`the provider answered with status ${response.status} and no error code`, response);
  }
  return answer;
}

/** The JSON object of an answer. @throws as `readJson`, with what was asked */
export function readObject(response: Response): Answer {
  try {
    return readJson(response.body);
  } catch (error) {
    throw badAnswer((error as Error).message, response);
  }
}

/**
 * A JSON object in UTF-8. Bytes that are not UTF-8 are refused, since ids are compared byte for byte. The parser's own
 * messages are not passed on: they quote the text, which may hold tokens.
 */
export function readJson(body: Uint8Array): Answer {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new Error('the provider answered with something that is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('the provider answered with JSON that is not an object');
  }
  return value as Record<string, unknown>;
}

/** The provider refused; `error` says why, and `Provider` maps it (contract §3). */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';

  /**
   * @param error a code of spec §7.3, or whatever else the provider sent in its place
   * @param what refused, for the log
   */
  constructor(
    readonly error: unknown,
    what: string,
    readonly asked?: Asked,
  ) {
    super(
      `${what}: ${typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : 'an unknown error'}`,
    );
  }
}

/** An answer that cannot be used and is no refusal. */
export function badAnswer(message: string, response: Response): Error {
  return Object.assign(new Error(message), { asked: askedIn(response) });
}

/** What was asked when an error came, if the error or one of its causes says so. */
export function askedOf(error: unknown): Asked | undefined {
  return chain(error).find(({ asked }) => asked !== undefined)?.asked;
}

/** Codes of Node.js, axios and openid-client. */
const AWAY =
  /^(?:E(?:CONNREFUSED|CONNRESET|CONNABORTED|HOSTUNREACH|NETUNREACH|NOTFOUND|PIPE|TIMEDOUT|AI_AGAIN)|UND_ERR_(?:CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|SOCKET)|OAUTH_TIMEOUT)$/;

/** Whether an error, or what caused it, says that a provider is away or slow, and not that its answer is wrong. */
export function isAway(error: unknown): boolean {
  return chain(error).some(({ code }) => typeof code === 'string' && AWAY.test(code));
}

interface Link {
  readonly asked?: Asked;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** An error and its causes, eight at most: they may form a circle. */
function chain(error: unknown): Link[] {
  const links: Link[] = [];
  for (let at = error; typeof at === 'object' && at !== null && links.length < 8; at = (at as Link).cause) {
    links.push(at);
  }
  return links;
}

function askedIn({ url, status, body }: Response): Asked {
  const asked = { url, status };
  try {
    const { error, error_description: description } = readJson(body);
    return isError(error) ? { ...asked, error, description } : asked;
  } catch {
    return asked;
  }
}

/** An `error` that is null, false, 0 or empty says that there is none. */
const isError = Boolean;
