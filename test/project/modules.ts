interface ModuleRule {
  /** One sentence for the table of CONTRIBUTING.md. */
  readonly contents: string;
  /** Modules, or single files of modules, that it may import. Only files in src/ itself and in start/ may import the rest. */
  readonly imports: readonly string[];
}

/** Open to every module above the platform. */
export const GROUND: readonly string[] = [
  'platform/background',
  'platform/config',
  'platform/errors',
  'platform/events',
  'platform/spans',
  'platform/database',
  'platform/http',
  'platform/decorated',
  'platform/declared',
  'platform/check-report',
  'identity',
  'channel',
  'audit',
];

/** What a feature may import. No feature imports another one, and no module imports features. */
const CORE: readonly string[] = [
  ...GROUND,
  'extensions.js',
  'auth',
  'device',
  'provider',
  'realtime',
  'token',
  'user',
];

/**
 * Modules of src: a folder, a folder in `platform/`, `features/` and `commands/`, or a file such as platform/events.ts.
 * `architecture.spec.ts` reads the rules, `npm run docs` the sentences.
 */
export const MODULES: Readonly<Record<string, ModuleRule>> = {
  'platform/config': { contents: 'every setting and key of a provider, declared once', imports: [] },
  'platform/errors': {
    contents: 'the table of error codes, and what errors of the database mean',
    imports: [],
  },
  'platform/spans': { contents: 'spans of traces, which cost nothing while traces are off', imports: [] },
  'platform/background': {
    contents: 'repeated work: name, interval, what happens if it fails',
    imports: [],
  },
  'platform/events': {
    contents: 'typed events between modules',
    imports: ['platform/errors'],
  },
  'platform/database': {
    contents: 'connections, migrations, batches of statements, the clock of the database',
    imports: [
      'platform/background',
      'platform/config',
      'platform/errors',
      'platform/events',
      'platform/spans',
    ],
  },
  'platform/http': {
    contents:
      'between socket and controllers: server, bodies, parameters, CORS, headers, answers, pages; signed calls; who may call an endpoint',
    imports: ['platform/config', 'platform/errors', 'platform/events', 'platform/spans'],
  },
  'platform/check-report': { contents: 'the lines of `check-config` and of similar commands', imports: [] },
  'platform/decorated': { contents: 'providers with a decorator, of all modules', imports: [] },
  'platform/declared': {
    contents: 'what all features declare together, for modules that import none',
    imports: ['platform/events'],
  },
  'platform/redis': {
    contents: 'the connection to Redis',
    imports: ['platform/background', 'platform/config', 'platform/events'],
  },
  'platform/rate-limit': {
    contents: 'limits for each address and user',
    imports: [
      'platform/background',
      'platform/config',
      'platform/declared',
      'platform/errors',
      'platform/events',
      'platform/http',
      'platform/redis',
    ],
  },
  identity: {
    contents: 'ids of users, their claims and limits: pure functions',
    imports: ['platform/http/parameters/uuid.js'],
  },
  channel: {
    contents: 'history, presence and idempotency keys of the channel of a user',
    imports: [
      'platform/background',
      'platform/config',
      'platform/errors',
      'platform/events',
      'platform/database',
    ],
  },
  audit: {
    contents: 'the audit trail: events, search, stream, webhooks',
    imports: [
      'platform/background',
      'platform/config',
      'platform/declared',
      'platform/errors',
      'platform/events',
      'platform/database',
      'platform/http',
      'identity',
    ],
  },
  user: { contents: '`GET /me`; users, their claims and roles', imports: GROUND },
  provider: {
    contents: 'the adapter interface and the adapters; redirect URIs',
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
  operations: {
    contents:
      'health, log, metrics, traces; removal of expired rows; `docs/openapi.json` and the page at `/docs`',
    imports: [...GROUND, 'platform/redis'],
  },
  'features/forward-auth': {
    contents: 'the answer to reverse proxies that ask whether a request is of a signed-in user',
    imports: CORE,
  },
  auth: {
    contents: '`/oauth2/*`, `/sign-out`; states; the sign-in; any OAuth client (`clients/`)',
    imports: [...GROUND, 'provider', 'user', 'device', 'token'],
  },
  realtime: {
    contents: 'sockets, notifications between instances, `POST /push`',
    imports: [...GROUND, 'user', 'device', 'token', 'platform/redis'],
  },
  'features/administration': {
    contents: '`/users`, and the endpoints of the administration page',
    imports: CORE,
  },
  'features/scim': {
    contents:
      'directories of providers: users and groups by SCIM, and what they mean for sessions and claims',
    imports: CORE,
  },
  'features/provider-events': {
    contents:
      'logout tokens, security events and revocations of providers: which sessions and accounts they end',
    imports: CORE,
  },
  'features/admission': {
    contents: 'the question to a service of the operator whether a user may sign in (`ADMISSION_URL`)',
    imports: CORE,
  },
  'features/agents': {
    contents:
      'programs of third parties that act for a user: consent, and tokens for one API (`AGENTS_FILE`)',
    imports: CORE,
  },
  'features/linking': {
    contents: 'accounts at several providers for one user: joined, parted, and users who are one person',
    imports: CORE,
  },
  'features/recheck': {
    contents: 'asks providers again about users whose sessions are in use',
    imports: CORE,
  },
  'features/device-grant': {
    contents: 'devices without a browser (RFC 8628): their grant, its page, and approval on another device',
    imports: CORE,
  },
  'features/sample-provider': {
    contents: 'the built-in provider `mock`, for development and tests',
    imports: CORE,
  },
  'features/session-limit': {
    contents: 'with how many sessions a user may be signed in (`MAX_SESSIONS`)',
    imports: CORE,
  },
  'features/demo-page': {
    contents: 'the page in `demo/`',
    imports: CORE,
  },
  'commands/keys': {
    contents: 'the command `keys`, which builds its own connection',
    imports: [...GROUND, 'token', 'entities.js', 'settings.js'],
  },
  citus: {
    contents: 'the stores that replace others on a Citus cluster',
    imports: [...GROUND, 'user', 'token', 'auth', 'realtime', 'operations'],
  },
  'commands/distribute': {
    contents: 'the command `distribute`, for Citus',
    imports: [...GROUND, 'citus', 'entities.js', 'settings.js'],
  },
  'commands/move': {
    contents: 'the commands `move-database`, `backup` and `restore`',
    imports: [...GROUND, 'token', 'device', 'commands/distribute', 'entities.js', 'settings.js'],
  },
  'commands/check': {
    contents: 'the commands `check-config` and `check-provider`, which check as a start does',
    imports: [...GROUND, 'provider', 'platform/redis', 'token', 'entities.js', 'features.js', 'settings.js'],
  },
};
