interface ModuleRule {
  /** One sentence for the table of CONTRIBUTING.md. */
  readonly contents: string;
  /** Modules, or single files of modules, that it may import. Only files in src/ itself and in start/ may import the rest. */
  readonly imports: readonly string[];
}

/** Decorators for every controller; no other file of their module may be imported with them. */
export const DECORATORS = 'token/guard/access.js';

/** Open to every module above them. */
export const GROUND: readonly string[] = [
  'background',
  'config',
  'errors',
  'events',
  'spans',
  'database',
  'http',
  'identity',
  'channel',
  'audit',
  DECORATORS,
];

/** Modules of src: a folder, or a file such as events.ts. `architecture.spec.ts` reads the rules, `npm run docs` the sentences. */
export const MODULES: Readonly<Record<string, ModuleRule>> = {
  config: { contents: 'every setting and key of a provider, declared once', imports: [] },
  errors: { contents: 'the table of error codes, and what errors of the database mean', imports: [] },
  spans: { contents: 'spans of traces, which cost nothing while traces are off', imports: [] },
  background: { contents: 'all repeated work: name, interval, what happens if it fails', imports: [] },
  events: {
    contents: 'typed events between modules',
    imports: ['errors'],
  },
  database: {
    contents: 'connections, migrations, batches of statements, the clock of the database',
    imports: ['background', 'config', 'errors', 'events', 'spans'],
  },
  http: {
    contents:
      'between socket and controllers: server, bodies, parameters, CORS, headers, answers, pages; signed calls',
    imports: ['config', 'errors', 'events', 'spans'],
  },
  identity: {
    contents: 'ids of users, their claims and limits: pure functions',
    imports: ['http/parameters/uuid.js'],
  },
  channel: {
    contents: 'history, presence and idempotency keys of the channel of a user',
    imports: ['background', 'config', 'errors', 'events', 'database'],
  },
  audit: {
    contents: 'the audit trail: events, search, stream, webhooks',
    imports: ['background', 'config', 'errors', 'events', 'database', 'http', 'identity', DECORATORS],
  },
  redis: { contents: 'the connection to Redis', imports: GROUND },
  'rate-limit': { contents: 'limits for each address and user', imports: [...GROUND, 'redis'] },
  user: { contents: '`GET /me`; users, their claims and roles', imports: GROUND },
  provider: {
    contents: 'the adapter interface and the adapters; redirect URIs; logout tokens',
    imports: GROUND,
  },
  token: {
    contents:
      'access and refresh tokens, sessions, signing keys, DPoP, introspection, the guard, the session feed',
    imports: [...GROUND, 'user'], // tokens carry the claims of their user
  },
  device: {
    contents: '`/devices`; ending of sessions (`SignOutService`), which all other modules call',
    imports: [...GROUND, 'user', 'token'],
  },
  'forward-auth': {
    contents: 'the answer to reverse proxies that ask whether a request is of a signed-in user',
    imports: [...GROUND, 'user', 'token'],
  },
  auth: {
    contents:
      '`/oauth2/*`, `/sign-out`, back-channel logout; states; the sign-in; any OAuth client (`clients/`)',
    imports: [...GROUND, 'provider', 'user', 'device', 'token'],
  },
  realtime: {
    contents: 'sockets, notifications between instances, `POST /push`',
    imports: [...GROUND, 'user', 'device', 'token', 'redis'],
  },
  administration: {
    contents: '`/users`, and the endpoints of the administration page',
    imports: [...GROUND, 'auth', 'provider', 'user', 'device', 'token'],
  },
  policy: {
    contents: 'who may sign in (`allow`), and with how many sessions (`MAX_SESSIONS`)',
    imports: [...GROUND, 'auth', 'provider', 'device', 'token'],
  },
  scim: {
    contents:
      'directories of providers: users and groups by SCIM, and what they mean for sessions and claims',
    imports: [...GROUND, 'auth', 'provider', 'user', 'device', 'token'],
  },
  signals: {
    contents: 'security events and revocations that providers push: which sessions and accounts they end',
    imports: [...GROUND, 'auth', 'provider', 'user', 'device', 'token', 'check/check-report.js'],
  },
  admission: {
    contents: 'the question to a service of the operator whether a user may sign in (`ADMISSION_URL`)',
    imports: [...GROUND, 'auth', 'provider', 'user'],
  },
  recheck: {
    contents: 'asks providers again about users whose sessions are in use',
    imports: [...GROUND, 'auth', 'provider', 'user', 'device', 'token'],
  },
  'device-grant': {
    contents: 'devices without a browser (RFC 8628): their grant, its page, and approval on another device',
    imports: [...GROUND, 'auth', 'provider', 'user', 'device', 'token', 'realtime'],
  },
  'sample-provider': {
    contents: 'the built-in provider `mock`, for development and tests',
    imports: [...GROUND, 'provider'], // redirect URIs and credentials of its client
  },
  demo: {
    contents: 'the page in `demo/`',
    imports: [...GROUND, 'realtime'], // its page pushes events to its own user
  },
  operations: { contents: 'health, log, metrics, traces', imports: [...GROUND, 'redis'] },
  openapi: { contents: '`docs/openapi.json` and the page at `/docs`', imports: GROUND },
  removal: { contents: 'removal of expired rows', imports: GROUND },
  keys: {
    contents: 'the command `keys`, which builds its own connection',
    imports: [...GROUND, 'token', 'entities.js'],
  },
  distribute: { contents: 'the command `distribute`, for Citus', imports: [...GROUND, 'entities.js'] },
  check: {
    contents: 'the commands `check-config` and `check-provider`, which check as a start does',
    imports: [...GROUND, 'provider', 'redis', 'sample-provider', 'token', 'entities.js'],
  },
};
