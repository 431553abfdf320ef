import { findBreaks, type Surface } from '../../openapi/surface/compare.js';
import { format, frozenSurface, presentSurface } from '../../openapi/surface/surface.js';
import { textOf } from '../support/deployment-files.js';

/** What a version promises does not become less without a word (docs/versions.md). */
describe('the public surface', () => {
  const { version, text } = frozenSurface();
  const now = presentSurface();
  const frozen = JSON.parse(text) as Surface;
  const breaks = findBreaks(frozen, now);
  const named = JSON.parse(textOf('docs/surface/breaks.json')) as Record<string, string>;

  it('keeps what the newest version promises, but for the breaks that are named', () => {
    const unnamed = [...breaks].filter(([name]) => !named[name]);
    if (unnamed.length === 0) return;
    throw new Error(
      `Version ${version} promises what is gone or narrower now (docs/surface/${version}.json):

${unnamed.map(([name, change]) => `  ${name} ${change}`).join('\n')}

Keep it, if need be beside the new way (docs/versions.md#deprecated). If it must go in the next minor version:
add "${unnamed[0]![0]}": "<what to do instead>" to docs/surface/breaks.json,
and a row \`next\` to the table of docs/versions.md. A reworded default or pattern needs its sentence there as well.
While CHANGELOG.md calls ${version} unreleased, \`npm run docs:surface\` writes its file again.`,
    );
  });

  it('has no names of breaks that are none', () => {
    expect(Object.keys(named).filter((name) => !breaks.has(name))).toEqual([]);
  });

  it('has the row `next` in docs/versions.md if there are breaks', () => {
    const [first] = /^\| (?:next|\d+\.\d+\.\d+) /m.exec(textOf('docs/versions.md'))!;
    if (Object.keys(named).length > 0) expect(first).toBe('| next ');
  });

  it('is written with a line for each thing', () => {
    expect(text).toBe(format(frozen));
  });

  it('is found', () => {
    expect(now).toMatchObject({
      endpoints: {
        'POST /push': { values: expect.arrayContaining(['as serviceKey push', '404 not_found']) },
        'GET /oauth2/authorize': { values: expect.arrayContaining(['302 with Location']) },
      },
      requests: {
        'POST /push event': { required: true, pattern: expect.any(String) },
        'POST /push/batch events[].event': { required: true },
        'POST /oauth2/token TokenDto.code': { required: true },
        'GET /audit ?limit': { type: 'string' },
        'GET /users/{user_id} path:user_id': { type: 'string (uuid)' },
        'POST /push/batch events[].user_ids[]': { type: 'string' },
      },
      answers: {
        'POST /push 202 id': { always: true },
        'GET /devices 200 devices[].device_id': { always: true },
      },
      'error codes': { slow_down: {} },
      'claims of access tokens': { sub: { always: true }, amr: {}, roles: {}, claims: {} },
      'channel events': { 'session.ended': { values: ['reason', 'cause?'] } },
      'feed events': { ended: {}, claims_changed: {}, claims_voided: {}, key_revoked: {}, ready: {} },
      'audit events': { sign_in: {}, directory_changed: {} },
      settings: {
        PORT: { default: expect.any(String), min: 1, max: 65_535 },
        BINDING: { values: expect.arrayContaining(['required']) },
        SECRET_KEY: { required: true },
      },
      'provider keys': { client_id: {} },
      adapters: { oidc: { needs: ['url'] } },
      metrics: { latchkey_sign_ins_total: { type: 'counter', values: ['provider'] } },
      exports: {
        '@latchkey/client createClient': { params: ['ClientOptions'] },
        '@latchkey/client EndCause': { values: expect.arrayContaining(["'idle'"]) },
        '@latchkey/client createClient.<1>': { type: 'object' },
        '@latchkey/client ChannelEvents.<1>': { required: true, type: 'object' },
        '@latchkey/client/react useSession': {},
        '@latchkey/server Verifier.push': {},
        '@latchkey/server/express authenticate': { params: ['Authenticator'] },
        'latchkey/adapter ProviderAdapter.exchange': {},
      },
      verifiers: {
        'python Verifier': {},
        'python verify()': { params: ['self', 'token'] },
        'go func New(o Options) (*Verifier, error)': {},
        'go ServiceKey string': {},
        'latchkey/Verifier.java public Claims verify(String token)': {},
      },
      styles: { '--latchkey-accent': {}, '::part(dialog)': {} },
      commands: { backup: {}, signals: {}, '--keep-sessions': { type: 'boolean' } },
      'Helm values': { replicas: { default: expect.any(String) }, 'image.tag': { default: '""' } },
    });
  });
});

describe('a break', () => {
  const before: Surface = {
    endpoints: { 'POST /push': { values: ['as anyone', 'takes application/json', '202', '404 not_found'] } },
    requests: {
      'POST /push event': { required: true, type: 'string', pattern: '^.{1,9}$' },
      'POST /push ttl': { type: 'integer', min: 0, max: 9 },
      'POST /push scope': { type: 'string', values: ['all', 'others'] },
      'POST /push data': { type: 'object' },
    },
    answers: {
      'POST /push 202 id': { always: true, type: 'string' },
      'POST /push 202 online': { type: 'boolean' },
      'POST /push 202 note': { type: 'string|null' },
      'POST /push 202 meta': { always: true, type: 'object' },
      'POST /push 202 meta.offset': { type: 'integer' },
    },
    settings: { PORT: { default: '3000', min: 1, max: 65_535 }, MODE: { values: ['on', 'off'] } },
    adapters: { oidc: { needs: ['url'] } },
    metrics: { latchkey_users: { type: 'gauge', values: [] } },
    exports: {
      'client createClient': { params: ['ClientOptions'], type: 'Client' },
      'client ClientOptions': { type: 'interface' },
      'client ClientOptions.url': { always: true, type: 'string' },
      'client ClientOptions.warn': { params: ['Warning'], type: 'void' },
      'client Client': { type: 'interface' },
      'client Client.user': { always: true, type: 'User' },
      'client Client.signIn': { always: true, params: ['?SignInOptions'], type: 'Promise<User>' },
      'client User': { type: 'interface' },
      'client User.id': { always: true, type: 'string' },
      'client Warning': { type: 'interface' },
      'client on': { params: ['(notice: Notice) => void'], type: 'void' },
      'client Notice': { type: 'interface' },
      'client SignInOptions': { type: 'interface' },
      'client Provider': { params: ['ProviderProps'], type: 'void' },
      'client ProviderProps': { type: 'interface' },
      'client ProviderProps.client': { always: true, type: 'Client' },
      'client Scope': { values: ["'all'", "'others'"] },
    },
  };
  type Change = readonly [section: string, name: string, entry?: Surface[string][string]];
  const breaksOf = (...changes: Change[]): Record<string, string> => {
    const now = structuredClone(before) as Record<string, Record<string, Surface[string][string]>>;
    for (const [section, name, entry] of changes) {
      if (entry) now[section]![name] = entry;
      else delete now[section]![name];
    }
    return Object.fromEntries(findBreaks(before, now));
  };
  const pushed = (...values: string[]): Change => ['endpoints', 'POST /push', { values }];

  it('is nothing that stays', () => expect(breaksOf()).toEqual({}));

  it('of an endpoint is one break, without its members', () => {
    const gone = Object.keys(before['answers']!).map((name): Change => ['answers', name]);
    expect(breaksOf(['endpoints', 'POST /push'], ...gone)).toEqual({ 'endpoints: POST /push': 'is gone' });
  });

  it.each<[what: string, change: Change, found: string]>([
    ['a removed endpoint', ['endpoints', 'POST /push'], 'is gone'],
    [
      'another caller',
      pushed('as key', 'takes application/json', '202', '404 not_found'),
      'has no as anyone any more',
    ],
    [
      'a removed error code',
      pushed('as anyone', 'takes application/json', '202'),
      'has no 404 not_found any more',
    ],
    ['a removed member of a request', ['requests', 'POST /push ttl'], 'is gone'],
    [
      'a member that is required now',
      ['requests', 'POST /push data', { required: true, type: 'object' }],
      'is required now',
    ],
    ['a new required member', ['requests', 'POST /push key', { required: true }], 'is new and required'],
    [
      'another type of a request',
      ['requests', 'POST /push data', { type: 'string' }],
      'was object, is string',
    ],
    [
      'a value that is not accepted',
      ['requests', 'POST /push scope', { type: 'string', values: ['all'] }],
      'has no others any more',
    ],
    [
      'a list of accepted values',
      ['requests', 'POST /push data', { type: 'object', values: ['a'] }],
      'is one of a only',
    ],
    [
      'a lower bound',
      ['requests', 'POST /push ttl', { type: 'integer', min: 1, max: 9 }],
      'is at least 1, was 0',
    ],
    [
      'an upper bound',
      ['requests', 'POST /push ttl', { type: 'integer', min: 0, max: 8 }],
      'is at most 8, was 9',
    ],
    [
      'a new upper bound',
      ['requests', 'POST /push scope', { type: 'string', values: ['all', 'others'], max: 8 }],
      'is at most 8, was undefined',
    ],
    [
      'another pattern',
      ['requests', 'POST /push event', { required: true, type: 'string', pattern: 'a' }],
      'has the pattern a, had ^.{1,9}$',
    ],
    ['a removed member of an answer', ['answers', 'POST /push 202 id'], 'is gone'],
    [
      'a member that may be absent',
      ['answers', 'POST /push 202 id', { type: 'string' }],
      'may be absent now',
    ],
    [
      'a member that may be null',
      ['answers', 'POST /push 202 online', { type: 'boolean|null' }],
      'was boolean, is boolean|null',
    ],
    ['a removed setting', ['settings', 'PORT'], 'is gone'],
    [
      'a changed default',
      ['settings', 'PORT', { default: '80', min: 1, max: 65_535 }],
      'has the default 80, had 3000',
    ],
    [
      'a smaller range',
      ['settings', 'PORT', { default: '3000', min: 1024, max: 65_535 }],
      'is at least 1024, was 1',
    ],
    ['a removed value', ['settings', 'MODE', { values: ['on'] }], 'has no off any more'],
    [
      'a setting that is required now',
      ['settings', 'MODE', { values: ['on', 'off'], required: true }],
      'is required now',
    ],
    ['a new required setting', ['settings', 'KEY', { required: true }], 'is new and required'],
    ['what an adapter needs', ['adapters', 'oidc', { needs: ['url', 'issuer'] }], 'needs issuer'],
    [
      'another type of a metric',
      ['metrics', 'latchkey_users', { type: 'counter', values: [] }],
      'was gauge, is counter',
    ],
    ['a removed export', ['exports', 'client createClient'], 'is gone'],
    ['a removed member', ['exports', 'client User.id'], 'is gone'],
    [
      'another result',
      ['exports', 'client createClient', { params: ['ClientOptions'], type: 'User' }],
      'was Client, is User',
    ],
    [
      'a further parameter',
      ['exports', 'client createClient', { params: ['ClientOptions', 'string'], type: 'Client' }],
      'takes (ClientOptions, string), took (ClientOptions)',
    ],
    [
      'a parameter less',
      ['exports', 'client Client.signIn', { always: true, params: [], type: 'Promise<User>' }],
      'takes (), took (?SignInOptions)',
    ],
    [
      'an option that is required now',
      ['exports', 'client ClientOptions.warn', { always: true, params: ['Warning'], type: 'void' }],
      'is required now',
    ],
    [
      'a new required option of a method',
      ['exports', 'client SignInOptions.email', { always: true, type: 'string' }],
      'is new and required',
    ],
    [
      'a new required option',
      ['exports', 'client ClientOptions.key', { always: true, type: 'string' }],
      'is new and required',
    ],
    ['a value of a union', ['exports', 'client Scope', { values: ["'all'"] }], "has no 'others' any more"],
  ])('is %s', (_what, change, found) => {
    expect(breaksOf(change)).toEqual({ [`${change[0]}: ${change[1]}`]: found });
  });

  it.each<[what: string, ...changes: Change[]]>([
    [
      'a new endpoint with required members',
      ['endpoints', 'GET /new', { values: ['200'] }],
      ['requests', 'GET /new id', { required: true }],
    ],
    [
      'a new error code',
      pushed('as anyone', 'takes application/json', '202', '404 not_found', '409 conflict'),
    ],
    [
      'a new object with a required member',
      ['requests', 'POST /push to', { type: 'object' }],
      ['requests', 'POST /push to.id', { required: true }],
    ],
    [
      'a member that is not required any more',
      ['requests', 'POST /push event', { type: 'string', pattern: '^.{1,9}$' }],
    ],
    ['further types of a request', ['requests', 'POST /push data', { type: 'object|null' }]],
    ['wider bounds', ['requests', 'POST /push ttl', { type: 'integer', min: -1 }]],
    ['a new member of an answer', ['answers', 'POST /push 202 at', { always: true, type: 'string' }]],
    [
      'a member that is never absent',
      ['answers', 'POST /push 202 online', { always: true, type: 'boolean' }],
    ],
    ['an answer that is never null', ['answers', 'POST /push 202 note', { type: 'string' }]],
    ['an answer of few values', ['answers', 'POST /push 202 note', { type: 'string|null', values: ['a'] }]],
    ['a new member of a notice', ['exports', 'client Notice.at', { always: true, type: 'string' }]],
    ['a new setting', ['settings', 'NEW', { default: 'off' }]],
    ['a new value', ['settings', 'MODE', { values: ['on', 'off', 'auto'] }]],
    ['a new method', ['exports', 'client Client.signOut', { always: true, params: [], type: 'void' }]],
    ['a new member of a result', ['exports', 'client User.name', { always: true, type: 'string' }]],
    [
      'a new member of what a callback gets',
      ['exports', 'client Warning.at', { always: true, type: 'string' }],
    ],
    ['a new option', ['exports', 'client ClientOptions.key', { type: 'string' }]],
    ['an option that is not required any more', ['exports', 'client ClientOptions.url', { type: 'string' }]],
    [
      'a further optional parameter',
      ['exports', 'client createClient', { params: ['?ClientOptions', '?string'], type: 'Client' }],
    ],
  ])('is not %s', (_what, ...changes) => {
    expect(breaksOf(...changes)).toEqual({});
  });
});
