import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import request from 'supertest';
import { createDatabase } from '../support/database.js';
import { report, Witness } from './attack.js';
import { needs } from '../support/installed.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { signalServer } from '../support/standby.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const AT_ONCE = 120;

interface FloodRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: object;
}

interface FloodAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** From sending to the whole answer. */
  readonly milliseconds: number;
}

/**
 * The database hangs under thousands of requests: each gets an error within 2 s (SECURITY.md#promises, P10),
 * and the service recovers.
 */
describe('a database that hangs under load', () => {
  let service: ServiceProcess;
  let tokens: Tokens;

  const provider = use(() => StubProvider.start());
  afterEach(() => service?.end('SIGKILL'));

  const refresh = ({ refresh_token }: Tokens): FloodRequest => ({
    method: 'POST',
    path: '/oauth2/refresh',
    body: { refresh_token },
  });

  async function sendOne(agent: Agent, one: FloodRequest): Promise<FloodAnswer> {
    const { method, path, headers = {}, body } = one;
    const began = performance.now();
    const type = { 'Content-Type': 'application/json', ...headers };
    const call = httpRequest(service.url + path, { method, agent, headers: type });
    call.end(body && JSON.stringify(body));
    try {
      const [response] = (await once(call, 'response')) as [IncomingMessage];
      const answer = { status: response.statusCode!, headers: response.headers, body: await text(response) };
      return { ...answer, milliseconds: performance.now() - began };
    } catch (error) {
      // On a slow machine the service may close a connection that was idle for long, at the moment that it is used again.
      if (call.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET')
        return sendOne(agent, one);
      throw error;
    }
  }
  /** Sends all requests at once, each over its own connection; these stay open. */
  const send = (agent: Agent, requests: readonly FloodRequest[]): Promise<FloodAnswer[]> =>
    Promise.all(requests.map((one) => sendOne(agent, one)));

  async function attack(name: string, requests: FloodRequest[], hang: () => unknown): Promise<FloodAnswer[]> {
    const agent = new Agent({ keepAlive: true });
    try {
      const usual = await usualTime(agent, requests.length);
      await hang();
      const witness = new Witness(service);
      const answers = await send(agent, requests);
      const slowest = Math.max(...answers.map(({ milliseconds }) => milliseconds));
      report(name, JSON.stringify(requests).length, await witness.stop());
      expect(slowest).toBeLessThan(2000 + 2 * usual); // the rest allows for a busy machine
      return answers;
    } finally {
      agent.destroy();
    }
  }

  /** How long this machine takes to send so many requests over open connections, and refuse them without a database. */
  async function usualTime(agent: Agent, count: number): Promise<number> {
    const bad = refresh({ ...tokens, refresh_token: 'x'.repeat(tokens.refresh_token.length) });
    for (let round = 1; ; round++) {
      const began = performance.now();
      const answers = await send(agent, Array<FloodRequest>(count).fill(bad));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
      if (round === 2) return performance.now() - began; // the first has opened them
    }
  }

  function expectAway(answers: FloodAnswer[]): void {
    for (const { status, body, headers } of answers) {
      expect([status, body, headers['retry-after']]).toEqual([
        500,
        '{"error":"server_error","error_description":"the database is unavailable"}',
        '1',
      ]);
    }
  }

  async function goesOn(): Promise<void> {
    const { refresh_token } = tokens;
    for (;;) {
      const { status } = await request(service.url).post('/oauth2/refresh').send({ refresh_token });
      if (status === 200) break;
      expect(status).toBe(500);
    }
    await signIn(service.url);
  }

  needs({ Linux: process.platform === 'linux' }).it(
    `PostgreSQL is frozen (SIGSTOP), ${AT_ONCE} refreshes`,
    async () => {
      const DATA_DIR = mkdtempSync(join(tmpdir(), 'latchkey-frozen-'));
      try {
        service = await startServiceProcess({ ...provider.env(), DATA_DIR });
        tokens = await signIn(service.url);
        const [postmaster] = readFileSync(join(DATA_DIR, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
        const signal = (name: NodeJS.Signals): unknown => signalServer(Number(postmaster), name);
        try {
          const requests = Array<FloodRequest>(AT_ONCE).fill(refresh(tokens));
          expectAway(await attack('frozen', requests, () => signal('SIGSTOP')));
        } finally {
          signal('SIGCONT');
        }
        await goesOn();
        expect(await service.end('SIGTERM')).toBe(0);
      } finally {
        rmSync(DATA_DIR, { recursive: true, force: true });
      }
    },
    120_000,
  );

  it('a lock stops every connection of the pool: refreshes, sign-ins and requests with access tokens', async () => {
    const database = await createDatabase();
    const holder = new Client(database.url);
    try {
      service = await startServiceProcess({ ...provider.env(), DATABASE_URL: database.url });
      tokens = await signIn(service.url);
      const state = await beginSignIn(service.url);
      await holder.connect();
      const lock = () => holder.query('BEGIN; LOCK TABLE access_tokens, authorization_states');
      const me = { method: 'GET', path: '/me', headers: { Authorization: `Bearer ${tokens.access_token}` } };
      const token = { method: 'POST', path: '/oauth2/token', body: { code: 'c', state } };
      const authorize = { method: 'GET', path: '/oauth2/authorize?provider=stub' };
      const refreshes = Array<FloodRequest>(9).fill(refresh(tokens));
      const some = Array.from({ length: AT_ONCE / 12 }, () => [me, token, authorize, ...refreshes]);
      expectAway(await attack('locked', some.flat(), lock));
      await holder.query('ROLLBACK');
      await goesOn();
    } finally {
      await holder.end();
      await service.end('SIGKILL');
      await database.close();
    }
  });
});
