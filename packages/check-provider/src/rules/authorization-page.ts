import { type Rule, fail, pass, quote, skip } from '../rule.js';
import { isWilling } from '../sign-in/sign-ins.js';

/** The values of X-Frame-Options, in capitals; a header may come twice. */
function frameOptions(headers: Headers): string[] {
  const values = headers.get('X-Frame-Options')?.split(',') ?? [];
  return values.map((value) => value.trim().toUpperCase());
}

const SOURCE =
  /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?([a-z0-9.-]+|\[[0-9a-f:]+\]|\*)(?::(\d+|\*))?(?:\/.*)?$/i;
const DEFAULT_PORT: Readonly<Record<string, string>> = { http: '80', https: '443' };

/** Whether a source expression matches an origin (CSP3 §6.7.2). `'none'` and `'self'` do not: ours is another origin. */
export function matchesSourceExpression(source: string, { protocol, hostname, port }: URL): boolean {
  const scheme = protocol.slice(0, -1);
  const allowsScheme = (wanted: string): boolean =>
    wanted === scheme || (wanted === 'http' && scheme === 'https');
  if (source === '*') return true;
  if (/^[a-z][a-z0-9+.-]*:$/i.test(source)) return allowsScheme(source.slice(0, -1).toLowerCase());
  const [, wantedScheme = scheme, wildcard, host = '', wantedPort = DEFAULT_PORT[scheme]] =
    SOURCE.exec(source) ?? [];
  const name = host.toLowerCase();
  const allowsHost = name === '*' || (wildcard ? hostname.endsWith(`.${name}`) : hostname === name);
  const allowsPort = wantedPort === '*' || wantedPort === (port || DEFAULT_PORT[scheme]);
  return allowsScheme(wantedScheme.toLowerCase()) && allowsHost && allowsPort;
}

export const authorizationPage: Rule = {
  id: 'authorization-page',
  clause: '§4.5.1 (1)',
  title: 'GET /oauth2/authorize shows a login page',
  level: 'required',
  run({ landing, redirectUri }) {
    const seen = landing.kind === 'none' ? landing.problem : `answered ${landing.status}`;
    if (isWilling(landing))
      return pass(landing.kind === 'callback' ? `${seen}, back to the callback at once` : seen);
    const registered = `register the redirect URI ${redirectUri} for this client, or name yours with --redirect-uri`;
    return fail(seen, `serve the page at <url>/oauth2/authorize within 5 s; ${registered}`);
  },
};

const WANTED = 'text/html; charset=utf-8';
// Letter case and spaces do not matter (RFC 9110 §8.3.1).
const SAME = /^text\/html\s*;\s*charset="?utf-8"?$/i;

export const pageContentType: Rule = {
  id: 'page-content-type',
  clause: '§4.5.1 (5)',
  title: `the page is ${WANTED}`,
  level: 'required',
  run({ landing }) {
    if (!isWilling(landing)) return skip('there was no login page');
    const type = landing.headers.get('Content-Type');
    if (type === null && landing.kind === 'callback') return pass('a redirect without a body');
    if (type !== null && SAME.test(type.trim())) return pass(type);
    return fail(
      type === null ? 'no Content-Type' : `Content-Type: ${quote(type)}`,
      `send Content-Type: ${WANTED}`,
    );
  },
};

export const frameOptionsDeny: Rule = {
  id: 'frame-options-deny',
  clause: '§4.5.1 (4)',
  title: 'the page sends no X-Frame-Options: DENY',
  level: 'required',
  run({ landing }) {
    if (!isWilling(landing)) return skip('there was no login page');
    const isDenied = frameOptions(landing.headers).includes('DENY');
    return isDenied
      ? fail('X-Frame-Options: DENY', 'leave the header out: the page is shown in an iframe')
      : pass('no DENY');
  },
};

const MEND =
  'leave frame-ancestors out, or let it name the origins of all applications (then check with --redirect-uri of one)';

/** A directive is restrictive unless it lets the origin of the redirect URI frame the page. */
export const frameAncestors: Rule = {
  id: 'frame-ancestors',
  clause: '§4.5.1 (4)',
  title: 'no restrictive CSP frame-ancestors',
  level: 'required',
  run({ landing, redirectUri }) {
    if (!isWilling(landing)) return skip('there was no login page');
    const lists = sourceLists(landing.headers.get('Content-Security-Policy') ?? '');
    if (lists.length === 0) return pass('no frame-ancestors');
    const bad = lists.find(
      (sources) => !sources.some((source) => matchesSourceExpression(source, new URL(redirectUri))),
    );
    if (!bad) return pass('frame-ancestors allows the origin of the redirect URI');
    return fail(`frame-ancestors ${quote(bad.join(' '))}`, MEND);
  },
};

/** The directive's sources in each of the policies; all of them hold (CSP3 §4.2). */
function sourceLists(header: string): string[][] {
  return header.split(',').flatMap((policy) => {
    const directives = policy.split(';').map((directive) => directive.trim().split(/\s+/));
    const found = directives.find(([name]) => name?.toLowerCase() === 'frame-ancestors');
    return found ? [found.slice(1)] : [];
  });
}

/** The specification forbids DENY only, but SAMEORIGIN shuts out an application on another origin just as well. */
export const frameOptionsOther: Rule = {
  id: 'frame-options-other',
  clause: '§4.5.1 (4)',
  title: 'no other X-Frame-Options either',
  level: 'advice',
  run({ landing }) {
    if (!isWilling(landing)) return skip('there was no login page');
    const others = frameOptions(landing.headers).filter((value) => value !== 'DENY');
    if (others.length === 0) return pass('none');
    const seen = `X-Frame-Options: ${quote(others.join(', '))}`;
    return fail(seen, 'leave it out: an application on another origin cannot show the page in its frame');
  },
};
