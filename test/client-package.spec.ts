import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { PackageProject } from './support/package-project.js';
import { startTestService, type TestService } from './support/service.js';
import { claimsOf, signIn } from './support/sign-in.js';
import { StubProvider } from './support/stub-provider.js';

/** The packed client, installed into a project of its own. */
let project: PackageProject;
let packed: string;

beforeAll(async () => {
  project = await PackageProject.install(['client'], 'module');
  packed = project.place('client');
});
afterAll(() => project?.remove());

it('is at most 8.5 kB in all, minified and gzipped', async () => {
  const scripts = (await readdir(packed, { recursive: true })).filter((name) => name.endsWith('.js'));
  expect(scripts).toEqual(['dist/index.js']);
  const code = await readFile(join(packed, 'dist/index.js'));
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(8500);
});

it('depends on nothing, and imports nothing but its optional peer', async () => {
  expect(await project.manifest('client')).toMatchObject({
    peerDependencies: { 'socket.io-client': '^4.8.0' },
    peerDependenciesMeta: { 'socket.io-client': { optional: true } },
  });
  expect(await project.manifest('client')).not.toHaveProperty('dependencies');
  const code = await readFile(join(packed, 'dist/index.js'), 'utf8');
  expect(code.match(/\bimport\b[^;]{0,40}/g)).toEqual([
    expect.stringContaining('import("socket.io-client")'),
  ]);
});

it('can be imported in Node.js, and lets the process end', async () => {
  const output = await project.run(`
    import { createClient, LatchkeyError } from '@latchkey/client';
    const client = createClient({ url: 'http://localhost:9', provider: 'mock', redirectUri: '/callback' });
    const codes = [client.accessToken(), client.connect()].map((call) => call.catch((error) => [error.code, error instanceof LatchkeyError]));
    console.log(JSON.stringify([client.session ?? null, ...(await Promise.all(codes))]));
  `);
  expect(JSON.parse(output)).toEqual([null, ['signed_out', true], ['signed_out', true]]);
});

it('says so when socket.io-client is missing', async () => {
  const output = await project.run(`
    import { createClient } from '@latchkey/client';
    const tokens = { access_token: 'a', refresh_token: 'r', expires_in: 9, user_id: 'u', device_id: 'd', received_at: Date.now() };
    const storage = { getItem: () => JSON.stringify(tokens), setItem() {}, removeItem() {} };
    const client = createClient({ url: 'http://localhost:9', provider: 'mock', redirectUri: '/', storage });
    await client.connect().catch(({ code }) => console.log(code));
  `);
  expect(output).toBe('missing_peer\n');
});

it('has types that hold without those of socket.io-client', async () => {
  const source = `
    import { createClient, LatchkeyError, type Channel, type Device, type Session } from '@latchkey/client';
    const client = createClient({ url: 'u', provider: 'mock', redirectUri: '/', storage: 'memory', texts: { retry: 'x' } });
    const off: () => void = client.on('change', (session: Session | undefined) => session?.userId);
    client.on('signedOut', ({ reason, message }) => [reason === 'refused', message.length]);
    const devices: Promise<Device[]> = client.devices();
    const channel: Promise<Channel> = client.connect();
    void channel.then((one) => one.on('note', (data, { offset }) => [data, offset]));
    // @ts-expect-error there is no such storage
    createClient({ url: 'u', provider: 'mock', redirectUri: '/', storage: 'cookie' });
    export const all = [off, devices, LatchkeyError];
    `;
  const options = { module: 'nodenext', lib: ['es2022', 'dom'] };
  expect(await project.typeCheck({ 'types.ts': source }, options)).toBe('');
});

describe('in Node.js, against the service', () => {
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), SERVICE_KEYS: 'k'.repeat(32) });
    await project.link('socket.io-client');
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  it('calls the API, listens to the channel, and signs out', async () => {
    const device_id = '0b0e3c5e-6d51-4f0c-9d3c-6a3a4f4b7e11';
    const tokens = await signIn(service.url, 'ada', { device_id });
    const stored = JSON.stringify({ ...tokens, device_id, received_at: 1, signed_in_at: Date.now() }); // it is due
    const output = await project.run(`
      import { createClient } from '@latchkey/client';
      const values = new Map([['latchkey:${service.url}', ${JSON.stringify(stored)}]]);
      const storage = { getItem: (key) => values.get(key) ?? null, setItem: (key, value) => values.set(key, value), removeItem: (key) => values.delete(key) };
      const client = createClient({ url: '${service.url}/', provider: 'stub', redirectUri: '/callback', storage });
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
      await client.signOut();
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
    expect(devices).toMatchObject([{ device_id, current: true }]);
    expect(ended).toEqual({ reason: 'user', message: '' });
    expect(session).toBeUndefined();
    const refused = await fetch(`${service.url}/me`, {
      headers: { Authorization: `Bearer ${String(token)}` },
    });
    expect(refused.status).toBe(401);
  });

  it('signs out when it forgets its own device', async () => {
    const device_id = '1b0e3c5e-6d51-4f0c-9d3c-6a3a4f4b7e12';
    const tokens = await signIn(service.url, 'grace', { device_id });
    const stored = JSON.stringify({
      ...tokens,
      device_id,
      received_at: Date.now(),
      signed_in_at: Date.now(),
    });
    const output = await project.run(`
      import { createClient } from '@latchkey/client';
      const values = new Map([['latchkey:${service.url}', ${JSON.stringify(stored)}]]);
      const storage = { getItem: (key) => values.get(key) ?? null, setItem: (key, value) => values.set(key, value), removeItem: (key) => values.delete(key) };
      const client = createClient({ url: '${service.url}', provider: 'stub', redirectUri: '/callback', storage });
      const ended = new Promise((resolve) => client.on('signedOut', resolve));
      await client.removeDevice(client.session.deviceId);
      console.log(JSON.stringify(await ended));
    `);
    expect(JSON.parse(output)).toEqual({ reason: 'user', message: '' });
  });
});
