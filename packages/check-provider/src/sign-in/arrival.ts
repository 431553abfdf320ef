/** How the user came back to the callback (spec §4.5.1, 3). */
export interface Arrival {
  /** The whole address, as it came. */
  readonly url: string;
  readonly method: string;
  /** Status of the redirect; unknown when a browser followed it. */
  readonly status: number | undefined;
  /** The state that was sent. */
  readonly state: string;
  readonly redirectUri: string;
}

/** The query after the redirect URI, without the URI's own; undefined when the address does not begin with the URI. */
export function queryOf({ url, redirectUri }: Pick<Arrival, 'url' | 'redirectUri'>): string | undefined {
  const start = redirectUri + (redirectUri.includes('?') ? '&' : '?');
  return url.startsWith(start) ? url.slice(start.length) : undefined;
}

/** All parameters of the address. */
export function parametersOf({ url }: Pick<Arrival, 'url'>): URLSearchParams {
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(url) ?? [];
  return new URLSearchParams(query);
}

/**
 * How a provider wrote its codes into the address. `percent`: percent-encoded, and `+` is itself. `form`: a `+` is a space, as
 * clients read it. `raw`: not encoded at all.
 */
export type Spelling = 'percent' | 'form' | 'raw';

/** The authorization code in a spelling; undefined when there is none. */
export function codeOf(arrival: Arrival, spelling: Spelling = 'form'): string | undefined {
  const raw = rawCodeOf(arrival);
  if (raw === undefined || spelling === 'form') return parametersOf(arrival).get('code') || undefined;
  if (spelling === 'raw') return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw; // a % that begins no character
  }
}

/** The character for which a client reads another code than the provider has made. */
export function misreadIn(arrival: Arrival, spelling: Spelling): string | undefined {
  const raw = rawCodeOf(arrival) ?? '';
  if (/%(?![\da-f]{2})/i.test(raw)) return '%';
  if (codeOf(arrival) === codeOf(arrival, spelling)) return undefined;
  return ['&', '#', '+'].find((character) => raw.includes(character)) ?? '%';
}

/** What stands between `code=` and the state, with any `&` or `#` of the code itself. */
function rawCodeOf(arrival: Arrival): string | undefined {
  if (!parametersOf(arrival).has('code')) return undefined;
  const [, between] = /^code=([^]+)&state=/.exec(queryOf(arrival) ?? '') ?? [];
  return between ?? /[?&]code=([^&#]+)/.exec(arrival.url)?.[1];
}
