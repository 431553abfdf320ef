import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createDatabase } from '../support/database.js';
import { needs } from '../support/installed.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';

const CALLBACK = 'https://app.example/callback';
const ASKED = { client_id: 'latchkey', redirect_uri: CALLBACK, state: '0f'.repeat(32) };
const PAGE = `/providers/mock/oauth2/authorize?${new URLSearchParams(ASKED).toString()}`;
const LINES = 60; // of the attacker: more than any useful queue holds
const PAUSE = 100; // ms between the attempts of a line: 600 a second at most
const LOOK_EVERY_MS = 10;
const SIGN_INS = 4; // of other people, one after the other

/** Linux gives a machine the whole of 127.0.0.0/8. */
const onLinux = needs({ Linux: process.platform === 'linux' }).describe;

onLinux('failed passwords', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let service: ServiceProcess;
  let csrf_token: string;
  const agents: Agent[] = [];

  beforeAll(async () => {
    database = await createDatabase();
    service = await startServiceProcess({ DATABASE_URL: database.url, HOST: '127.0.0.1' });
    const page = await (await fetch(service.url + PAGE)).text();
    csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page)![1]!;
  });
  afterAll(async () => {
    for (const agent of agents) agent.destroy();
    await service?.end('SIGTERM');
    await database?.drop();
  });

  const from = (localAddress: string): Agent => {
    const agent = new Agent({ keepAlive: true, localAddress });
    agents.push(agent);
    return agent;
  };

  /** Sends one request, and reads its answer to the end; gives the status. */
  function send(agent: Agent, path: string, form?: Record<string, string>): Promise<number> {
    const body = form && new URLSearchParams(form).toString();
    return new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const { port } = new URL(service.url);
      const options = { agent, host: '127.0.0.1', port, path, ...(body && { method: 'POST', headers }) };
      const sent = request(options, (response) => {
        response.resume().on('end', () => resolve(response.statusCode!));
      });
      sent.on('error', reject).end(body);
    });
  }
  const submit = (agent: Agent, login: string, password: string): Promise<number> =>
    send(agent, PAGE, { csrf_token, login, password });
  const residentMiB = (): number => {
    const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
  };

  it('of a flood from one address keep nobody else waiting for long', async () => {
    const attacker = from('127.0.0.2');
    const person = from('127.0.0.1');
    const watcher = from('127.0.0.1');
    const memory = residentMiB();
    const begun = performance.now();
    const end = new AbortController();
    let [sent, hashed, longestGap] = [0, 0, 0];

    const flood = Array.from({ length: LINES }, async () => {
      while (!end.signal.aborted) {
        // Each attempt has another login, so a count for each login stops none of them.
        if ((await submit(attacker, `login-${sent++}`, 'wrong')) === 422) hashed++;
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    });
    const watch = (async () => {
      while (!end.signal.aborted) {
        const asked = performance.now();
        await send(watcher, '/health/live');
        longestGap = Math.max(longestGap, performance.now() - asked);
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    })();
    const waits: number[] = [];
    const answers: number[] = [];
    for (let count = 0; count < SIGN_INS; count++) {
      const asked = performance.now();
      answers.push(await submit(person, 'ada', 'analytical-engine'));
      waits.push(performance.now() - asked);
    }
    end.abort();
    await Promise.all([...flood, watch]);
    const seconds = (performance.now() - begun) / 1000;

    const grown = residentMiB() - memory;
    process.stdout.write(
      `failed passwords: ${sent} sent in ${seconds.toFixed(1)} s (${Math.round(sent / seconds)} a second, some 0.5 KiB each), ` +
        `${hashed} hashed; ${answers.filter((status) => status === 302).length} of ${SIGN_INS} others signed in, ` +
        `waiting ${Math.round(Math.max(...waits))} ms at most; longest gap of /health/live ${Math.round(longestGap)} ms, ` +
        `memory ${grown < 0 ? '' : '+'}${Math.round(grown)} MiB\n`,
    );
    // 500 comes from a machine too busy for its database: the passwords are not the cause.
    expect(answers.filter((status) => status !== 302 && status !== 500)).toEqual([]);
    expect(answers.filter((status) => status === 302).length).toBeGreaterThan(SIGN_INS / 2);
    expect(hashed).toBeGreaterThan(0);
    expect(hashed).toBeLessThanOrEqual(30 * (1 + Math.floor(seconds / 60)));
  }, 240_000);

  it('of a stranger do not lock a login out for its owner', async () => {
    const stranger = from('127.0.0.3');
    const answers = new Set<number>();
    for (let count = 0; count < 15; count++) answers.add(await submit(stranger, 'grace', 'wrong'));
    expect(answers).toEqual(new Set([422, 429]));
    expect(await submit(stranger, 'grace', 'first-compiler')).toBe(429);
    expect(await submit(from('127.0.0.1'), 'grace', 'first-compiler')).toBe(302);
  });
});
