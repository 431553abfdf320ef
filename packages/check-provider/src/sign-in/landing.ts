import { open } from '../call.js';
import type { NoAnswer } from '../reply.js';

/** Answer to the authorization address for a browser without a session. */
export type Landing =
  | { readonly kind: 'page'; readonly status: number; readonly headers: Headers }
  /** Sent back to the callback at once: no person is needed. */
  | { readonly kind: 'callback'; readonly status: number; readonly headers: Headers; readonly url: string }
  | ({ readonly kind: 'none' } & NoAnswer);

const MOST_REDIRECTS = 10;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const ACCEPT = 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8'; // what browsers ask for

/**
 * Opens the authorization address as a browser does: follows redirects, with their cookies, to a login page that may be
 * elsewhere; but never opens the callback.
 *
 * @param address the authorization request (spec §4.5.1)
 * @param redirectUri the callback in it
 */
export async function land(address: URL, redirectUri: string): Promise<Landing> {
  const cookies = new Cookies();
  let url = address;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const headers = { Accept: ACCEPT, ...cookies.headerFor(url) };
    const response = await open(url.href, { headers });
    if (!(response instanceof Response)) return { kind: 'none', ...response };
    await response.body?.cancel(); // a page may be large, and its text does not matter
    cookies.keep(url, response.headers);
    const { status } = response;
    if (!REDIRECTS.has(status)) return { kind: 'page', status, headers: response.headers };

    const location = response.headers.get('Location') ?? '';
    const next = location !== '' && URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    if (!next) return nowhere(`${status} to no valid address`);
    if (isCallback(location, next, redirectUri)) {
      return { kind: 'callback', status, headers: response.headers, url: location };
    }
    if (!/^https?:$/.test(next.protocol)) return nowhere(`${status} to no web page`);
    url = next;
  }
  return nowhere(`more than ${MOST_REDIRECTS} redirects`);
}

function nowhere(problem: string): Landing {
  return { kind: 'none', problem, away: false };
}

/** Whether the redirects end here: at the callback, or at an address that was meant to be the callback. */
function isCallback(location: string, { searchParams }: URL, redirectUri: string): boolean {
  const isThere = location.startsWith(redirectUri.split('?')[0]!);
  return isThere || (searchParams.has('code') && searchParams.has('state'));
}

/** Session cookies on the way to a login page, by host; only the part of RFC 6265 that one visit needs. */
class Cookies {
  private readonly byHost = new Map<string, Map<string, string>>();

  keep({ host }: URL, headers: Headers): void {
    const jar = this.byHost.get(host) ?? new Map<string, string>();
    this.byHost.set(host, jar);
    for (const line of headers.getSetCookie()) {
      const [, name, value] = /^([^=;]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined) jar.set(name.trim(), value ?? '');
    }
  }

  headerFor({ host }: URL): { Cookie?: string } {
    const jar = this.byHost.get(host);
    if (!jar || jar.size === 0) return {};
    return { Cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') };
  }
}
