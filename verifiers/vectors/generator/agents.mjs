import {
  accepted,
  claimsChanged,
  claimsVoided,
  connect,
  cursor,
  end,
  ended,
  introspection,
  keyRevoked,
  metadata,
  ready,
  refused,
  send,
  state,
} from './steps.mjs';
import { ISSUER, START, token } from './tokens.mjs';

const API = 'https://api.example/mcp';
/** Hosts of their own, since a process knows all protected resources that it has declared. */
const ORDERS = 'https://mcp.example/orders';
const METADATA = '/.well-known/oauth-protected-resource';
const feed = { serviceKey: true };
const both = { ...feed, audience: [ISSUER, API] };

/** A token of a program that acts for Ada. */
const ofAgent = (claims) => {
  const ids = { sid: 'session-of-agent', client_id: 'https://program.example/client' };
  return token({ aud: API, ...ids, scope: 'orders:read', ...claims });
};

export function agents(named) {
  const ada = named('good', token({ roles: ['admin'], claims: { plan: 'pro' } }));
  const agent = (name, claims) => named(`agent-${name}`, ofAgent(claims));
  const plain = agent('plain', {});
  const [origin, slash] = ['https://api.example', 'https://api.example/'].map((aud, i) =>
    agent(`origin-${i}`, { aud }),
  );
  const carrying = agent('roles', { roles: ['admin'] });
  const others = agent('claims', { claims: { plan: 'pro' } });
  const later = agent('later', { roles: ['reader'], iat: START / 1000 + 11 });
  const fresh = agent('fresh', { roles: ['former'], iat: START / 1000 });
  const ofBoth = agent('both', { aud: [ISSUER, API], roles: ['admin'] });
  return [
    ...audiences({ ada, plain, origin, slash, agent }),
    {
      name: 'the claims of a change are laid over tokens of the application alone; another that carries claims is refused',
      options: both,
      steps: [
        connect(0),
        send(0, ready('c0')),
        accepted(0, carrying),
        send(0.5, claimsChanged({ roles: ['reader'] }, { at: 0.4 })),
        accepted(0.5, ada, { roles: ['reader'] }),
        ...[carrying, others, ofBoth].map((one) => refused(0.5, one)),
        ...[plain, later].map((one) => accepted(0.5, one)),
        send(1, claimsVoided(0.9)),
        accepted(1, carrying),
        state(1, { introspections: 0 }),
      ],
    },
    {
      name: 'while the feed is away, introspection says which claims a program gets, but none after a change that is known',
      options: both,
      steps: [
        introspection(0, 200, '{"active":true,"roles":["editor"]}'),
        accepted(0, carrying, { roles: ['editor'] }),
        connect(0),
        send(0, claimsChanged({ roles: ['reader'] })),
        refused(0, carrying),
        accepted(0, plain, { roles: ['editor'] }),
        state(0, { introspections: 2 }),
      ],
    },
    ...refreshed({ fresh, ready: [connect(0), send(0, ready('c0'))] }),
    {
      name: 'a service key of one API: its feed has endings and revoked keys alone',
      options: { ...feed, audience: API },
      steps: [
        introspection(0, 403, '{"error":"insufficient_scope","error_description":"x"}'),
        connect(0),
        send(0, ready('c0')),
        state(0, { notified: true }),
        accepted(0, carrying),
        send(0.5, ended('session-of-agent')),
        refused(0.5, carrying),
        send(1, keyRevoked('k1')),
        refused(1, origin),
        end(1),
      ],
    },
    ...scopes({ ada, plain, ofBoth, agent }),
    ...resources({ ada, agent }),
  ];
}

/** A program refreshes at once after a change: only the service knows whether the new token has the new claims. */
function refreshed({ fresh, ready: open }) {
  const change = send(0.5, claimsChanged({ roles: ['reader'] }, { at: 0.4 }));
  const active = introspection(0, 200, '{"active":true,"roles":["reader"]}');
  const now = accepted(0.5, fresh, { roles: ['reader'] });
  return [
    {
      name: 'a token issued in the ten seconds after a change is introspected for twenty, and refused then',
      options: both,
      steps: [
        active,
        ...open,
        change,
        now,
        state(0.5, { notified: true, introspections: 1 }),
        ...[1.5, 3, 4.5, 6, 7.5, 9, 10.5, 12, 13.5, 15, 16.5, 18, 19.5].map((at) =>
          send(at, cursor(`c${at}`)),
        ),
        accepted(20.3, fresh, { roles: ['reader'] }),
        refused(20.5, fresh),
        state(20.5, { notified: true, introspections: 2 }),
      ],
    },
    ...[
      { name: 'is not active', step: introspection(0, 200, '{"active":false}'), error: 'invalid_token' },
      { name: 'is an error', step: introspection(0, 500, ''), error: 'temporarily_unavailable' },
    ].map(({ name, step, error }) => ({
      name: `such a token, if the answer ${name}`,
      options: both,
      steps: [step, ...open, change, refused(0.5, fresh, error)],
    })),
    {
      name: 'such a token is introspected while the feed is away, also with `accept`',
      options: { ...both, whenAway: 'accept' },
      steps: [active, connect(0), change, now, state(0.5, { notified: false, introspections: 1 })],
    },
    {
      name: 'such a token is refused while the feed is away with `refuse`',
      options: { ...both, whenAway: 'refuse' },
      steps: [
        active,
        connect(0),
        change,
        refused(0.5, fresh, 'temporarily_unavailable'),
        state(0.5, { introspections: 0 }),
      ],
    },
  ];
}

function audiences({ ada, plain, origin, slash, agent }) {
  const one = (name, audience, ...steps) => ({ name, options: audience && { audience }, steps });
  const list = agent('list', { aud: ['https://other.example', API] });
  const other = agent('other', { aud: 'https://other.example' });
  const issuerSlash = agent('issuer-slash', { aud: `${ISSUER}/` });
  const without = 'without an audience tokens of the application are accepted, and no others';
  return [
    {
      ...one(without, undefined, accepted(0, ada), ...[plain, list, issuerSlash].map((t) => refused(0, t))),
      options: {},
    },
    one('an audience takes the place of the issuer', API, accepted(0, plain), refused(0, ada)),
    one('a list of audiences', [ISSUER, API], accepted(0, ada), accepted(0, plain), refused(0, other)),
    one('a token with a list of audiences, of which one fits', API, accepted(0, list)),
    ...['https://api.example', 'https://api.example/'].map((audience) =>
      one(`the origin ${audience}`, audience, accepted(0, origin), accepted(0, slash), refused(0, plain)),
    ),
    one('a path with a slash is another one', `${API}/`, refused(0, plain)),
  ];
}

const challenge = (parameters) =>
  `Bearer ${Object.entries(parameters)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}`;
const lacking = (at, it, needed, scope, more = {}) => ({
  ...refused(at, it, 'insufficient_scope', challenge({ error: 'insufficient_scope', ...more, scope })),
  scopes: needed,
});
const having = (at, it, ...needed) => ({ ...accepted(at, it), scopes: needed });

function scopes({ ada, plain, ofBoth, agent }) {
  const one = (name, ...steps) => ({ name, options: { audience: [ISSUER, API] }, steps });
  const none = agent('no-scope', { scope: undefined });
  const two = agent('two-scopes', { scope: 'orders:read orders:write' });
  const list = agent('scope-list', { scope: ['orders:write'] });
  const quoted = agent('scope-quoted', { scope: 'orders:read a"b' });
  const [read, write] = ['orders:read', 'orders:write'];
  return [
    one('tokens of the application need no scope', having(0, ada, write)),
    one('the scope of a program', having(0, plain, read), having(0, two, read, write)),
    one(
      'a scope that is missing: the answer names it, after those of the token',
      lacking(0, plain, [write], 'orders:read orders:write'),
      lacking(0, plain, [write, read], 'orders:read orders:write'),
      lacking(0, two, ['orders'], 'orders:read orders:write orders'),
    ),
    one('a program without scopes', lacking(0, none, [read], read), lacking(0, list, [write], write)),
    one(
      'a token for the application and an API needs the scope',
      lacking(0, ofBoth, [write], `${read} ${write}`),
    ),
    one('a scope with characters of the header is left out', lacking(0, quoted, [write], `${read} ${write}`)),
  ];
}

function resources({ ada, agent }) {
  const [orders, expired] = [{}, { exp: START / 1000 - 1 }].map((claims, i) =>
    agent(`orders-${i}`, { aud: ORDERS, ...claims }),
  );
  const [a, b] = ['https://two.example/a', 'https://two.example/b'];
  const ofB = agent('b', { aud: b });
  const of = (resource) => ({ resource, scopes: ['orders:read', 'orders:write'] });
  const document = (resource) => ({
    resource,
    authorization_servers: [ISSUER],
    scopes_supported: ['orders:read', 'orders:write'],
    bearer_methods_supported: ['header'],
  });
  const [url, root] = [`https://mcp.example${METADATA}/orders`, 'https://root.example/'];
  const scope = 'orders:read orders:write';
  const told = challenge({ error: 'invalid_token', resource_metadata: url, scope });
  return [
    {
      name: 'a protected resource: its metadata, also at the root, and what a refusal names',
      options: { audience: [ORDERS, ISSUER], resources: [of(ORDERS)] },
      steps: [
        metadata(`${METADATA}/orders`, document(ORDERS)),
        metadata(METADATA, document(ORDERS)),
        ...[`${METADATA}/`, `${METADATA}/orders/`, `${METADATA}/other`, '/orders'].map((path) =>
          metadata(path, null),
        ),
        accepted(0, ada),
        having(0, orders, 'orders:read'),
        refused(0, expired, 'invalid_token', told),
        lacking(0, orders, ['orders:write'], scope, { resource_metadata: url }),
      ],
    },
    {
      name: 'two protected resources of a host: none is at the root, and a refusal that could be of either names none',
      options: { audience: [a, b], resources: [of(a), of(b)] },
      steps: [
        metadata(`${METADATA}/a`, document(a)),
        metadata(`${METADATA}/b`, document(b)),
        metadata(METADATA, null),
        refused(0, ada, 'invalid_token', challenge({ error: 'invalid_token' })),
        lacking(0, ofB, ['orders:write'], scope, { resource_metadata: `https://two.example${METADATA}/b` }),
      ],
    },
    {
      name: 'an origin as a protected resource',
      options: { audience: 'https://root.example', resources: [of(root)] },
      steps: [
        metadata(METADATA, document(root)),
        metadata(`${METADATA}/`, null),
        refused(
          0,
          ada,
          'invalid_token',
          challenge({ error: 'invalid_token', resource_metadata: `https://root.example${METADATA}`, scope }),
        ),
      ],
    },
  ];
}
