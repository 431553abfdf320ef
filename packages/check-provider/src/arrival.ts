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

/** All parameters of the address, whatever it begins with. */
export function parametersOf({ url }: Pick<Arrival, 'url'>): URLSearchParams {
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(url) ?? [];
  return new URLSearchParams(query);
}

/** The authorization code; undefined when there is none. */
export function codeOf(arrival: Arrival): string | undefined {
  return parametersOf(arrival).get('code') || undefined;
}
