import { execFileSync } from 'node:child_process';
import { jest } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { freePort } from '../../../test/support/free-port.js';
import { needs } from '../../../test/support/installed.js';
import { keysCommand } from '../../../test/support/keys-command.js';
import { query } from '../../../test/support/query.js';
import { startServiceProcess, type ServiceProcess } from '../../../test/support/service-process.js';
import { signIn } from '../../../test/support/sign-in.js';
import { StubProvider } from '../../../test/support/stub-provider.js';
import { TcpProxy } from '../../../test/support/tcp-proxy.js';
import { until } from '../../../test/support/until.js';
import { createVerifier, type LatchkeyError, type Verifier } from '../src/index.js';
import { ApiProcess } from './support/api-process.js';
import { SERVICE_KEY } from './support/fake-service.js';
import { Oracle } from './support/oracle.js';

const SOAK = process.env['SOAK'] !== undefined;
const [BOUND, STALLED] = [1000, 3000]; // contract §8
/** Longer than the two seconds for which a stream may be silent. */
const STILL_MS = 2100;
const OUTAGE_MS = SOAK ? 60_000 : 2500;
/** The default run has the quick ones; test/away.spec.ts shows the others against a stand-in. */
const soak = needs({ 'SOAK=1': SOAK }).it;
const PUBLIC_URL = 'http://latchkey.test';
const SESSIONS = 6;

/** What an API does while the service, the database or the network between them fails: under `introspect`. */
jest.setTimeout(SOAK ? 400_000 : 180_000);

describe('under faults', () => {
  let provider: StubProvider;
  let database: TestDatabase;
  let env: Record<string, string>;
  let service: ServiceProcess;
  let proxy: TcpProxy;
  let verifier: Verifier;
  let oracle: Oracle;

  beforeAll(async () => {
    provider = await StubProvider.start();
    database = await createDatabase();
    env = {
      ...provider.env(),
      DATABASE_URL: database.url,
      PUBLIC_URL,
      SERVICE_KEYS: SERVICE_KEY,
      PORT: String(await freePort()),
    };
    service = await startServiceProcess(env);
  });
  afterAll(async () => {
    await service?.end('SIGKILL');
    await database?.drop();
    await provider?.close();
  });
  beforeEach(async () => {
    proxy = await TcpProxy.before(service.url);
    verifier = create(`http://127.0.0.1:${proxy.port}`);
    oracle = judgeOf(verifier);
    await until(() => verifier.isTold);
  });
  afterEach(async () => {
    verifier.close();
    await proxy.refuse();
  });

  const create = (url: string): Verifier =>
    createVerifier({ issuer: PUBLIC_URL, url, serviceKey: SERVICE_KEY, onWarning: () => undefined });
  const judgeOf = (of: Verifier): Oracle =>
    new Oracle((token) =>
      of.verify(token).then(
        () => 200,
        ({ status }: LatchkeyError) => status,
      ),
    );
  /** All is well again: good tokens are accepted without asking, ended ones refused. */
  const recovered = (): Promise<void> =>
    until(() => verifier.isTold && oracle.lastOfLiving === 200 && oracle.allEndedRefused);

  soak('the stream is silent, but not closed, and the service answers: asked, all is right', async () => {
    await oracle.begin(service.url, SESSIONS);
    proxy.toClient.drops = (chunk) => chunk.includes('\nid: '); // what the stream says
    await oracle.signOut(service.url);
    await until(() => !verifier.isTold);
    await oracle.signOut(service.url);
    await delay(OUTAGE_MS - 2000);
    await proxy.refuse(); // the stream that lost some of its bytes
    await proxy.restore();
    await recovered();
    const { late, ...counts } = await oracle.verdict();
    expect(counts).toMatchObject({ goodRefused: 0, unavailable: 0, other: 0 });
    expect(late).toBeLessThan(STALLED);
  });

  soak('the network is cut, and then frozen: 503, and nothing that ended is accepted', async () => {
    await oracle.begin(service.url, SESSIONS);
    await oracle.signOut(service.url);
    await proxy.refuse();
    await oracle.signOut(service.url);
    await until(() => oracle.lastOfLiving === 503);
    if (SOAK) await delay(OUTAGE_MS);
    await proxy.restore();
    await recovered();
    proxy.blackhole();
    await oracle.signOut(service.url);
    await until(() => oracle.lastOfLiving === 503);
    await delay(SOAK ? OUTAGE_MS : 0);
    await proxy.restore();
    await recovered();
    const { late, unavailable, ...counts } = await oracle.verdict();
    expect(counts).toMatchObject({ goodRefused: 0, other: 0 });
    expect(unavailable).toBeGreaterThan(0);
    expect(late).toBeLessThan(STALLED);
  });

  it('the service is killed just after a sign-out, and started', async () => {
    await oracle.begin(service.url, SESSIONS);
    await oracle.signOut(service.url);
    await service.end('SIGKILL');
    await until(() => oracle.lastOfLiving === 503);
    service = await startServiceProcess(env);
    await recovered();
    const { late, ...counts } = await oracle.verdict();
    expect(counts).toMatchObject({ goodRefused: 0, other: 0 });
    expect(late).toBeLessThan(BOUND);
  });

  it('the API’s process is stopped and goes on: what lay waiting is judged by what is true then', async () => {
    const api = await ApiProcess.start({ issuer: PUBLIC_URL, url: service.url, serviceKey: SERVICE_KEY });
    try {
      const ofApi = new Oracle((token) => api.ask(token));
      await ofApi.begin(service.url, SESSIONS);
      await until(() => ofApi.lastOfLiving === 200);
      api.signal('SIGSTOP');
      await ofApi.signOut(service.url);
      await delay(SOAK ? 6000 : STILL_MS);
      api.signal('SIGCONT'); // its socket holds requests and words of the stream of all that time
      await until(() => ofApi.allEndedRefused);
      const { late, ...counts } = await ofApi.verdict();
      expect(counts).toMatchObject({ goodRefused: 0, unavailable: 0, other: 0 });
      expect(late).toBeLessThan(BOUND);
    } finally {
      await api.end();
    }
  });

  it('this process stands still while a session is signed out: what is asked next is not judged by what was known before', async () => {
    const token = await newToken();
    expect(await verifier.verify(token)).toBeTruthy();
    const signOut = `
      const [, url, token] = process.argv;
      const { status } = await fetch(url, { method: 'POST', headers: { Authorization: 'Bearer ' + token } });
      if (status !== 204) throw new Error('a sign-out was answered with ' + status);
      await new Promise((resolve) => setTimeout(resolve, ${STILL_MS}));`;
    proxy.toClient.drops = (chunk) => chunk.includes('\nid: '); // what the stream says is read later than the question
    execFileSync(process.execPath, ['--input-type=module', '-e', signOut, `${service.url}/sign-out`, token]);
    await expect(verifier.verify(token)).rejects.toMatchObject({ status: 401 });
  });

  const newToken = async (): Promise<string> => (await signIn(service.url)).access_token;

  it('the keys are rotated, and one is revoked', async () => {
    const kidOf = (token: string): string =>
      (JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid;
    await oracle.begin(service.url, SESSIONS);
    const old = await newToken();
    await keysCommand(env, 'rotate');
    await query(database.url, 'UPDATE signing_keys SET active_at = now() WHERE active_at > now()');
    let token = '';
    await until(async () => kidOf((token = await newToken())) !== kidOf(old));
    expect(await verifier.verify(token)).toBeTruthy();
    const verdict = await oracle.verdict(); // those of the first key go on
    expect(verdict).toMatchObject({ goodRefused: 0, unavailable: 0, other: 0 });

    await keysCommand(env, 'revoke', kidOf(old));
    const revokedAt = performance.now();
    const isRefused = () =>
      verifier.verify(old).then(
        () => false,
        ({ status }: LatchkeyError) => status === 401,
      );
    await until(isRefused);
    expect(performance.now() - revokedAt).toBeLessThan(BOUND);
    expect(await verifier.verify(token)).toBeTruthy();
  });

  const faults: [string, (instance: ServiceProcess, database: TcpProxy) => void, typeof recover][] = [
    ['has lost its database', (_, databaseProxy) => databaseProxy.blackhole(), recover],
    ['is stopped, and goes on', ({ child }) => void child.kill('SIGSTOP'), recover],
  ];
  async function recover({ child }: ServiceProcess, databaseProxy: TcpProxy): Promise<void> {
    await databaseProxy.restore();
    child.kill('SIGCONT');
  }
  soak.each(faults)('an instance %s, while sign-outs go on at another', async (_name, harm, mend) => {
    const databaseProxy = await TcpProxy.before(database.url);
    const address = new URL(database.url);
    address.host = `127.0.0.1:${databaseProxy.port}`;
    const lonely = await startServiceProcess({
      ...env,
      DATABASE_URL: address.href,
      PORT: String(await freePort()),
    });
    const ofLonely = create(lonely.url);
    try {
      await until(() => ofLonely.isTold);
      const judge = judgeOf(ofLonely);
      await judge.begin(service.url, SESSIONS);
      harm(lonely, databaseProxy);
      await judge.signOut(service.url);
      await until(() => judge.lastOfLiving === 503);
      await delay(OUTAGE_MS);
      await judge.signOut(service.url);
      await mend(lonely, databaseProxy);
      await until(() => ofLonely.isTold && judge.lastOfLiving === 200 && judge.allEndedRefused);
      const { late, ...counts } = await judge.verdict();
      expect(counts).toMatchObject({ goodRefused: 0, other: 0 });
      expect(late).toBeLessThan(STALLED);
    } finally {
      ofLonely.close();
      await lonely.end('SIGKILL');
      await databaseProxy.refuse();
    }
  });
});
