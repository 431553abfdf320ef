import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { PackageProject } from '../support/package-project.js';
import { startTestService, type TestService } from '../support/service.js';
import { claimsOf, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

/** The packed client, installed into a project. */
let project: PackageProject;
let packed: string;

beforeAll(async () => {
  project = await PackageProject.install(['client'], 'module');
  packed = project.place('client');
});
afterAll(() => project?.remove());

/** Bytes of files of the package, as a server sends them: minified and gzipped. */
async function gzipped(...names: string[]): Promise<number> {
  const files = await Promise.all(names.map((name) => readFile(join(packed, 'dist', name))));
  return files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
}

it('is at most 9.5 kB with keys, renewal, claims and idle time, and a sign-in another 4.9 kB, which is loaded ahead', async () => {
  // Not counted: other languages and sockets, which are loaded on demand, and the hooks for React.
  const code = await readFile(join(packed, 'dist/index.js'), 'utf8');
  expect(code).not.toMatch(/\bimport\b(?!\()|\bexport\b[^;]*\bfrom\b/);
  expect(await gzipped('index.js')).toBeLessThanOrEqual(9500);
  const others = [
    ['dialog.js', 3350],
    ['requests.js', 1500],
    ['hand-on.js', 750], // loaded by the callback page
    ['step-up.js', 900], // loaded after a 401
    ['account.js', 600], // loaded for the user's profile, and with the devices
    ['linking.js', 750], // loaded for accounts at several providers
    ['idle-watch.js', 950], // loaded if idle time applies
  ] as const;
  for (const [name, most] of others) {
    const other = await readFile(join(packed, 'dist', name), 'utf8');
    expect([name, other]).toEqual([
      name,
      expect.not.stringMatching(/\bimport\b(?!\()|\bexport\b[^;]*\bfrom\b/),
    ]);
    expect([name, (await gzipped(name)) <= most]).toEqual([name, true]);
  }
  // Loaded only by applications with several providers, and on loopback hosts.
  expect(await gzipped('choice.js')).toBeLessThanOrEqual(2250);
});

it('has the components in files of their own, which are loaded when they are shown', async () => {
  expect(await gzipped('components.js', 'user.js')).toBeLessThanOrEqual(4400);
  expect(await gzipped('components.js', 'devices.js')).toBeLessThanOrEqual(7300);
  expect(await gzipped('programs.js')).toBeLessThanOrEqual(1800); // with the first program
  expect(await gzipped('components.js', 'identities.js')).toBeLessThanOrEqual(5200);
  expect(await gzipped('components.js', 'idle-notice.js')).toBeLessThanOrEqual(3400);
});

it('has the channel and its sockets in two files of 1 kB each without imports, which are loaded together', async () => {
  for (const name of ['channel.js', 'sockets.js']) {
    expect(await gzipped(name)).toBeLessThanOrEqual(1000); // socket.io-client has 12.7 kB
    expect(await readFile(join(packed, 'dist', name), 'utf8')).not.toMatch(/\bimport\b/);
  }
});

it('in Node.js, rejects with a LatchkeyError in each function, leaves nothing unhandled, and lets the process end', async () => {
  const output = await project.run(`
    import { createClient, LatchkeyError } from '@latchkey/client';
    process.on('unhandledRejection', (error) => console.log('unhandled', error));
    const tokens = { access_token: 'a', refresh_token: 'r', expires_in: 9999, user_id: 'u', device_id: 'd', received_at: Date.now() };
    const storage = { getItem: () => JSON.stringify(tokens), setItem() {}, removeItem() {} };
    const loadSocketIo = () => Promise.resolve({});
    const client = createClient({ url: 'http://localhost:9', provider: 'mock', redirectUri: '/', storage, loadSocketIo });
    const calls = {
      signIn: [], stepUp: [{ maxAge: 60 }], providers: [], showProviders: [], showDevices: [], showUser: [], showIdleNotice: [], showDeviceRequests: [], showIdentities: [], identities: [], link: ['x'], unlink: ['x'], mergeUser: ['x'], deviceRequests: [], decideDeviceRequest: ['BDFH-JLNP', true], stay: [], handleCallback: [], accessToken: [], fetch: ['/x'], connect: [], signOut: [{ provider: true }],
      me: [], devices: [], renameDevice: ['x', 'y'], removeDevice: ['x'], refusedPrograms: [], allowProgram: ['x'],
    };
    const functions = Object.keys(client).filter((name) => !['session', 'idleEndsAt', 'linked', 'on', 'close'].includes(name));
    if (functions.sort().join() !== Object.keys(calls).sort().join()) console.log('other functions', functions);
    for (const [name, parameters] of Object.entries(calls)) {
      const outcome = await client[name](...parameters).catch((error) => (error instanceof LatchkeyError ? error.code : error));
      console.log(name, typeof outcome === 'object' ? outcome.constructor.name : outcome);
    }
    delete globalThis.WebSocket; // Node 20: it has none
    const without = createClient({ url: 'http://localhost:9', provider: 'mock', redirectUri: '/', storage });
    await without.connect().catch(({ code }) => console.log('without', code));
    for (const broken of [() => client.signIn(null), () => client.fetch('http://['), () => client.connect(null)])
      console.log(await broken().catch((error) => error instanceof LatchkeyError));
    client.close();
    without.close();
  `);
  const codes = Object.fromEntries(
    output
      .trim()
      .split('\n')
      .map((line) => line.split(' ')),
  ) as Record<string, string>;
  expect(codes).toMatchObject({
    signIn: 'no_browser',
    stepUp: 'no_browser',
    showProviders: 'no_browser',
    showDevices: 'no_browser',
    showUser: 'no_browser',
    showIdleNotice: 'no_browser',
    showDeviceRequests: 'no_browser',
    showIdentities: 'no_browser',
    link: 'no_browser',
    providers: 'network',
    handleCallback: 'no_browser',
    connect: 'missing_peer',
    without: 'missing_peer',
  });
  expect(codes).toMatchObject({ accessToken: 'a', fetch: 'network', me: 'network', devices: 'network' });
  expect(output).toMatch(/(true\n){3}$/);
  expect(output).not.toMatch(/unhandled|other functions|Error/);
});

it('has types without those of socket.io-client: accepts undefined for every option, and knows what events carry', async () => {
  const source = `
    import { createClient, type ClientOptions, type Device, type Latchkey, type LatchkeyError, type Session } from '@latchkey/client';
    const options: { [Name in keyof ClientOptions]: undefined | ClientOptions[Name] } & { url: string; provider: string; redirectUri: string } = {
      url: 'u', provider: 'mock', redirectUri: '/', mode: undefined, locale: undefined, texts: undefined, storage: undefined,
      fetchOrigins: undefined, deviceName: undefined, askAgain: undefined, refreshTokenLife: undefined, loadSocketIo: undefined,
    };
    interface MyEvents { 'order.shipped': { id: string }; note: number }
    const client = createClient<MyEvents>(options);
    void client.signIn({ mode: undefined, provider: undefined, email: undefined, maxAge: undefined, params: { hd: 'corp.example' } });
    void createClient({ url: 'u', redirectUri: '/callback/{provider}' }).providers().then(([first]) => first?.label);
    void client.signOut({ scope: undefined, provider: true, redirectUri: undefined });
    void client.connect({ offset: undefined, id: undefined }).then((channel) => {
      channel.on('order.shipped', ({ id }, { offset }) => [id.length, offset]);
      channel.on('device.renamed', ({ device_name }) => device_name?.length);
      channel.on('claims.changed', ({ claims }) => claims.roles?.includes('admin'));
      channel.on('agent.allowed', ({ client_name, resource, scope }) => [client_name, resource, scope.split(' ')]);
      channel.on('ready', ({ recovered }) => !recovered);
      channel.on('*', (name, data, { id }) => [name === 'note', typeof data === 'number' && data.toFixed(), id]);
      // @ts-expect-error no event of that name
      channel.on('*', (name) => name === 'order.shiped');
      // @ts-expect-error no event of that name
      channel.on('order.shiped', () => undefined);
      // @ts-expect-error that is no number
      channel.on('order.shipped', ({ id }) => id.toFixed());
    });
    void createClient(options).connect().then((channel) => {
      channel.on('anything', (data) => (data as string).length);
      channel.on('device.signed_out', ({ device_id }) => device_id.length);
      // @ts-expect-error its type is unknown
      channel.on('anything', (data) => data.length);
      channel.on('*', (name, data, { id }) => [name.length, data, id]);
    });
    export const any: Latchkey = client; // for what works with every client: the hooks
    const session = client.session;    export const who: string | undefined = session?.username;
    export const isAdmin: boolean | undefined = session?.claims.roles?.includes('admin');
    export const off: () => void = client.on('change', (changed: Session | undefined) => changed?.userId);
    client.on('signedOut', ({ reason, message, cause }) => [reason === 'refused', message.length, cause?.length]);
    client.on('idle', ({ ends_at }) => ends_at === client.idleEndsAt);
    export const devices: Promise<Device[]> = client.devices();
    client.link('hub').catch(({ code, identity, mergeToken }: LatchkeyError) => [code, identity?.email, mergeToken?.length]);
    void client.showIdentities(document.body, { onError: undefined });
    // @ts-expect-error there is no such storage
    createClient({ url: 'u', provider: 'mock', redirectUri: '/', storage: 'cookie' });
  `;
  const strict = { module: 'nodenext', lib: ['es2022', 'dom'], exactOptionalPropertyTypes: true };
  expect(await project.typeCheck({ 'events.ts': source }, strict)).toBe('');
});

it('has types with doc comments, which cite no document of the repository', async () => {
  const types = join(packed, 'dist/types');
  const seen = new Set<string>();
  const visit = async (name: string): Promise<void> => {
    if (seen.has(name)) return;
    seen.add(name);
    const text = await readFile(join(types, name), 'utf8');
    for (const [, next] of text.matchAll(/from '(\.[\w./-]+)\.js'/g))
      await visit(join(dirname(name), `${next}.d.ts`));
    expect([name, text]).toEqual([name, expect.not.stringMatching(/§|\bcontract\b|\bRFC \d+ §|docs\//)]);
    // Each exported type and function has a doc comment.
    const bare = [...text.matchAll(/(.*)\nexport (?:interface|type|declare \w+) (\w+)/g)].filter(
      ([, before]) => !before!.endsWith('*/'),
    );
    expect([name, bare.map(([, , one]) => one)]).toEqual([name, []]);
  };
  await visit('index.d.ts');
  expect(seen.size).toBeGreaterThan(5);
});

describe('for development', () => {
  it('is another file, which warns once of each mistake; the production build prints nothing', async () => {
    const files = ['index.js', 'development.js'].map((name) => readFile(join(packed, 'dist', name), 'utf8'));
    const [production, development] = await Promise.all(files);
    expect(development).toContain('fetchOrigins');
    for (const word of ['[latchkey] ', 'is not in fetchOrigins'])
      expect([word, production!.includes(word)]).toEqual([word, false]);
    const script = `
      import { createClient } from '@latchkey/client';
      const tokens = { access_token: 'secret', refresh_token: 'secret', expires_in: 9999, user_id: 'u', device_id: 'd', received_at: Date.now() };
      const storage = { getItem: () => JSON.stringify(tokens), setItem() {}, removeItem() {} };
      const loadSocketIo = () => Promise.reject(new Error('secret'));
      const client = createClient({ url: 'http://localhost:9', provider: 'mock', redirectUri: '/', storage, loadSocketIo });
      console.warn = (text) => console.log(text);
      for (const path of ['a?token=secret', 'b', 'c']) await client.fetch('http://127.0.0.1:9/' + path).catch(() => undefined);
      for (let n = 0; n < 3; n++) await client.connect().catch(() => undefined);
    `;
    expect(await project.run(script)).toBe('');
    const lines = (await project.run(script, 'script.js', ['--conditions=development'])).trim().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^\[latchkey\].* http:\/\/127\.0\.0\.1:9,.*fetchOrigins: \['http:\/\/127/),
      expect.stringMatching(/^\[latchkey\].*Socket\.IO/),
    ]);
    expect(lines.join()).not.toContain('secret');
  });
});

describe('in Node.js, against the service', () => {
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), SERVICE_KEYS: 'k'.repeat(32) });
    for (const name of ['socket.io-client', 'ws']) await project.link(name);
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  it.each([
    [
      'the sockets that it brings',
      'globalThis.WebSocket ??= (await import("ws")).WebSocket; const loadSocketIo = undefined;',
      'signOut()',
    ],
    [
      'a Socket.IO client of the application',
      'const loadSocketIo = () => import("socket.io-client");',
      'removeDevice(client.session.deviceId)',
    ],
  ])('calls the API, listens to the channel with %s, and signs out', async (_which, prepare, signOut) => {
    const device_id = randomUUID();
    const tokens = await signIn(service.url, 'ada', { device_id });
    const stored = JSON.stringify({ ...tokens, device_id, received_at: 1, signed_in_at: Date.now() }); // it is due
    const output = await project.run(`
      import { createClient } from '@latchkey/client';
      ${prepare}
      const values = new Map([['latchkey:${service.url}', ${JSON.stringify(stored)}]]);
      const storage = { getItem: (key) => values.get(key) ?? null, setItem: (key, value) => values.set(key, value), removeItem: (key) => values.delete(key) };
      const client = createClient({ url: '${service.url}/', provider: 'stub', redirectUri: '/callback', storage, loadSocketIo });
      const token = await client.accessToken();
      const channel = await client.connect();
      const note = new Promise((resolve) => channel.on('note', (data, meta) => resolve([data, meta.offset])));
      await fetch('${service.url}/push', {
        method: 'POST',
        headers: { Authorization: 'Bearer ${'k'.repeat(32)}', 'Content-Type': 'application/json' },
        body: JSON.stringify({ user_id: client.session.userId, event: 'note', data: 'hello' }),
      });
      const heard = await note;
      const renamed = await client.renameDevice('${device_id}', 'Kitchen');
      const me = await client.me();
      const devices = await client.devices();
      const ended = new Promise((resolve) => client.on('signedOut', resolve));
      await client.${signOut};
      console.log(JSON.stringify({ token, heard, renamed, me, devices, ended: await ended, session: client.session }));
    `);
    const { token, heard, renamed, me, devices, ended, session } = JSON.parse(output) as Record<
      string,
      unknown
    >;
    expect(claimsOf(token as string)).toMatchObject({ sub: tokens.user_id, device_id });
    expect(token).not.toBe(tokens.access_token);
    expect(heard).toEqual(['hello', expect.any(Number)]);
    expect(renamed).toMatchObject({ device_id, device_name: 'Kitchen' });
    expect(me).toMatchObject({ user_id: tokens.user_id });
    expect((devices as { current: boolean }[]).filter(({ current }) => current)).toMatchObject([
      { device_id, online: true }, // as its channel is
    ]);
    expect(ended).toEqual({ reason: 'user', message: '' });
    expect(session).toBeUndefined();
    const refused = await fetch(`${service.url}/me`, {
      headers: { Authorization: `Bearer ${String(token)}` },
    });
    expect(refused.status).toBe(401);
  });
});
