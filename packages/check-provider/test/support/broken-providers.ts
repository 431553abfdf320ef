import {
  authorize,
  CLIENT,
  exchange,
  refusal,
  type Faults,
  type ProviderReply,
} from './contract-provider.js';

/** A provider with one fault, and the only rule that it breaks. */
export interface BrokenProvider extends Faults {
  readonly rule: string;
  readonly fault: string;
}

type Change<T> = (value: T) => T;

/** The good provider's redirect with another status, header or address. */
const page = (rule: string, fault: string, change: Change<ProviderReply>): BrokenProvider => ({
  rule,
  fault,
  authorize: (query, good) => change(authorize(query, good)),
});
const header = (rule: string, fault: string, headers: Record<string, string>): BrokenProvider =>
  page(rule, fault, (reply) => ({ ...reply, headers: { ...reply.headers, ...headers } }));
const location = (rule: string, fault: string, change: Change<string>): BrokenProvider =>
  page(rule, fault, (reply) => {
    const { Location = '', ...others } = reply.headers ?? {};
    return { ...reply, headers: { ...others, Location: change(Location) } };
  });

/** The good provider's exchange, changed in what it receives or in what it answers. */
const answer = (
  rule: string,
  fault: string,
  change: (reply: ProviderReply, form: URLSearchParams) => ProviderReply,
): BrokenProvider => ({ rule, fault, exchange: (form, good) => change(exchange(form, good), form) });
const identity = (rule: string, fault: string, members: () => object): BrokenProvider =>
  answer(rule, fault, (reply) =>
    reply.status === 200 ? { ...reply, body: { ...(reply.body as object), ...members() } } : reply,
  );
const error = (rule: string, fault: string, change: Change<ProviderReply>): BrokenProvider =>
  answer(rule, fault, (reply) => (reply.status === 200 ? reply : change(reply)));
const form = (rule: string, fault: string, name: string, value: string): BrokenProvider => ({
  rule,
  fault,
  exchange: (sent, good) => {
    if (sent.has(name)) sent.set(name, value);
    return exchange(sent, good);
  },
});
/** The good provider with another kind of code. */
const codes = (fault: string, make: (serial: number) => string, rule = 'code-strength'): BrokenProvider => ({
  rule,
  fault,
  authorize: (query, good) => {
    const reply = authorize(query, good);
    const old = good.issued.pop()!;
    const code = make(good.issued.length);
    good.issued.push(code);
    good.codes.set(code, good.codes.get(old)!);
    const { Location = '', ...others } = reply.headers ?? {};
    return { ...reply, headers: { ...others, Location: Location.replace(old, code) } };
  },
});
const codeOf = (reply: ProviderReply): string => (reply.body as { error: string }).error;

let users = 0;

/** At least one for each required rule. */
export const BROKEN: readonly BrokenProvider[] = [
  { rule: 'authorization-page', fault: 'is not there', authorize: () => ({ status: 404 }) },
  {
    rule: 'authorization-page',
    fault: 'redirects for ever',
    authorize: () => redirectTo('/oauth2/authorize'),
  },
  { rule: 'authorization-page', fault: 'redirects to nowhere', authorize: () => ({ status: 302 }) },
  header('page-content-type', 'names no charset', { 'Content-Type': 'text/html' }),
  header('page-content-type', 'is JSON', { 'Content-Type': 'application/json; charset=utf-8' }),
  header('frame-options-deny', 'forbids frames', { 'X-Frame-Options': 'deny' }),
  header('frame-ancestors', "'none'", { 'Content-Security-Policy': "frame-ancestors 'none'" }),
  header('frame-ancestors', "'self'", { 'Content-Security-Policy': "img-src *; frame-ancestors 'self'" }),
  header('frame-ancestors', 'in a second policy', {
    'Content-Security-Policy': 'frame-ancestors *, Frame-Ancestors https://app.example',
  }),
  ...[301, 303, 307, 308].map((status) =>
    page('redirect-status', String(status), (reply) => ({ ...reply, status })),
  ),
  location('redirect-form', 'puts the state first', (url) => url.replace(/(code=[^&]*)&(state=.*)/, '$2&$1')),
  location('redirect-form', 'adds a parameter', (url) => `${url}&session=1`),
  location('redirect-form', 'adds a slash', (url) => url.replace('?', '/?')),
  location('redirect-form', 'uses the fragment', (url) => url.replace('?', '#')),
  location('redirect-form', 'sends an error', (url) => url.replace(/code=[^&]*/, 'error=access_denied')),
  ...['+', '%', '%zz', '%ff', '%41', '&', '#', '&x=', '+%2B'].map((characters) =>
    codes(
      `does not encode ${characters}`,
      (serial) => `${serial}${'a1'.repeat(20)}${characters}b`,
      'redirect-form',
    ),
  ),
  codes(
    'does not encode the + of later codes',
    (serial) => `${serial}${'a1'.repeat(20)}${serial > 0 ? '+' : ''}b`,
    'redirect-form',
  ),
  location('redirect-form', 'goes elsewhere', (url) => url.replace(/^[^?]*/, 'http://app.invalid/cb')),
  location('state-echo', 'drops it', (url) => url.replace(/&state=.*/, '')),
  location('state-echo', 'cuts it', (url) => url.replace(/(state=.{32}).*/, '$1')),
  location('state-echo', 'in capitals', (url) =>
    url.replace(/state=.*/, (state) => `state=${state.slice(6).toUpperCase()}`),
  ),
  {
    rule: 'exchange-endpoint',
    fault: 'is not there',
    exchange: () => ({ status: 404, body: { error: 'Not Found' } }),
  },
  { rule: 'exchange-endpoint', fault: 'redirects', exchange: () => redirectTo('/login') },
  { rule: 'exchange-endpoint', fault: 'never ends', exchange: () => ({ status: 200, body: 'never' }) },
  {
    rule: 'exchange-endpoint',
    fault: 'is endless',
    exchange: () => ({ status: 200, body: 'x'.repeat(65_537) }),
  },
  answer('exchange-success', '201', (reply) => (reply.status === 200 ? { ...reply, status: 201 } : reply)),
  answer('exchange-success', 'no JSON', (reply) =>
    reply.status === 200 ? { ...reply, body: 'u-1' } : reply,
  ),
  identity('user-id', 'is a number', () => ({ provider_user_id: 17 })),
  identity('user-id', 'is missing', () => ({ provider_user_id: undefined })),
  identity('user-id', 'is empty', () => ({ provider_user_id: '' })),
  identity('user-id-stable', 'changes', () => ({ provider_user_id: `u-${users++}` })),
  identity('optional-fields', 'a number', () => ({ username: 17 })),
  identity('optional-fields', 'a list', () => ({ email: ['ada@example.com'] })),
  identity('optional-fields', 'no URL', () => ({ avatar_url: 'ada.png' })),
  {
    rule: 'code-single-use',
    fault: 'redeems again',
    exchange: (sent, good) => {
      const grant = good.codes.get(sent.get('code') ?? '');
      const reply = exchange(sent, good);
      if (reply.status === 200 && grant) good.codes.set(sent.get('code')!, grant);
      return reply;
    },
  },
  {
    rule: 'code-single-use',
    fault: 'fails',
    exchange: (sent, good) => {
      const code = sent.get('code') ?? '';
      const isUsed = good.issued.includes(code) && !good.codes.has(code);
      return isUsed ? refusal(500, 'server_error') : exchange(sent, good);
    },
  },
  {
    rule: 'unknown-code',
    fault: 'fails',
    exchange: (sent, good) => {
      const code = sent.get('code') ?? '';
      return code === '' || good.issued.includes(code) ? exchange(sent, good) : refusal(500, 'server_error');
    },
  },
  form('code-bound-to-client', 'looks at no client', 'client_id', CLIENT.id),
  answer('unknown-client', 'invalid_grant', (reply, sent) =>
    sent.get('client_id') !== CLIENT.id && sent.has('client_id') ? refusal(400, 'invalid_grant') : reply,
  ),
  form('wrong-secret', 'takes any', 'client_secret', CLIENT.secret),
  answer('wrong-secret', 'invalid_request', (reply, sent) =>
    sent.get('client_secret') !== CLIENT.secret ? refusal(400, 'invalid_request') : reply,
  ),
  error('missing-parameters', 'invalid_client', (reply) =>
    codeOf(reply) === 'invalid_request' ? refusal(401, 'invalid_client') : reply,
  ),
  {
    rule: 'missing-parameters',
    fault: 'takes no secret for the secret',
    exchange: (sent, good) => {
      if (!sent.has('client_secret')) sent.set('client_secret', CLIENT.secret);
      return exchange(sent, good);
    },
  },
  error('error-body', 'plain text', ({ status }) => ({ status, body: 'no' })),
  error('error-body', 'another shape', ({ status }) => ({ status, body: { error: { code: 1 } } })),
  error('error-body', 'no description', (reply) => ({ ...reply, body: { error: codeOf(reply) } })),
  error('error-status', '401 as of the service', (reply) =>
    codeOf(reply) === 'invalid_grant' ? { ...reply, status: 401 } : reply,
  ),
  error('error-status', '400 for the client', (reply) =>
    codeOf(reply) === 'invalid_client' ? { ...reply, status: 400 } : reply,
  ),
  error('error-status', '200 for everything', (reply) => ({ ...reply, status: 200 })),
];

/** Providers that keep the contract, but get advice. */
export const ADVISED: readonly BrokenProvider[] = [
  header('frame-options-other', 'SAMEORIGIN', { 'X-Frame-Options': 'SAMEORIGIN' }),
  location('state-any-text', 'is not encoded', (url) =>
    url.replace(/state=.*/, (state) =>
      decodeURIComponent(state).replace('✓', '%E2%9C%93').replace('é', '%C3%A9'),
    ),
  ),
  location('redirect-query', 'a second question mark', (url) => url.replace('&code=', '?code=')),
  location('redirect-query', 'drops it', (url) => url.replace('?keep=1&', '?')),
  {
    rule: 'redirect-uri-required',
    fault: 'asks for none',
    exchange: (sent, good) => {
      const uri = good.codes.get(sent.get('code') ?? '')?.redirectUri;
      if (!sent.has('redirect_uri') && uri) sent.set('redirect_uri', uri);
      return exchange(sent, good);
    },
  },
  {
    rule: 'code-bound-to-redirect-uri',
    fault: 'takes any',
    exchange: (sent, good) => {
      const uri = good.codes.get(sent.get('code') ?? '')?.redirectUri;
      if (sent.get('redirect_uri') && uri) sent.set('redirect_uri', uri);
      return exchange(sent, good);
    },
  },
  {
    rule: 'code-bound-to-verifier',
    fault: 'ignores PKCE',
    exchange: (sent, good) => {
      const grant = good.codes.get(sent.get('code') ?? '');
      if (grant) grant.challenge = null;
      sent.delete('code_verifier');
      return exchange(sent, good);
    },
  },
  {
    rule: 'code-bound-to-verifier',
    fault: 'refuses code_challenge',
    authorize: (query, good) => (query.has('code_challenge') ? { status: 400 } : authorize(query, good)),
  },
  {
    rule: 'code-bound-to-verifier',
    fault: 'refuses code_verifier',
    exchange: (sent, good) =>
      sent.has('code_verifier') ? refusal(400, 'invalid_request') : exchange(sent, good),
  },
  codes('six digits', (serial) => String(100_000 + serial)),
  identity('identity-limits', 'a long name', () => ({ username: 'a'.repeat(256) })),
  identity('identity-limits', 'a data URL', () => ({ avatar_url: 'data:image/png;base64,AA' })),
  identity('identity-limits', 'a long id', () => ({ provider_user_id: 'a'.repeat(256) })),
  identity('identity-limits', 'NUL', () => ({ provider_user_id: 'a\0' })),
  answer('json-content-type', 'text', (reply) => ({
    ...reply,
    headers: { ...reply.headers, 'Content-Type': 'text/plain' },
  })),
  answer('no-store', 'may be cached', ({ status, body = '' }) => ({ status, body })),
];

function redirectTo(Location: string): ProviderReply {
  return { status: 302, headers: { Location } };
}
