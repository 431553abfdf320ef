import { Agent, request } from 'node:http';
import { createDatabase } from '../support/database.js';
import { needs } from '../support/installed.js';
import { startServiceProcess } from '../support/service-process.js';
import { report, Witness } from './attack.js';
import { use } from '../support/use.js';

const CALLBACK = 'https://app.example/callback';
const ASKED = { client_id: 'latchkey', redirect_uri: CALLBACK, state: '0f'.repeat(32) };
const PAGE = `/providers/mock/oauth2/authorize?${new URLSearchParams(ASKED).toString()}`;
const LINES = 60; // of the attacker: more than any useful queue holds
const PAUSE = 100; // ms between the attempts of a line: 600 a second at most
const SIGN_INS = 4; // of other people, one after the other

/** Linux gives a machine the whole of 127.0.0.0/8. */
const onLinux = needs({ Linux: process.platform === 'linux' }).describe;

onLinux('failed passwords', () => {
  let csrf_token: string;
  const agents: Agent[] = [];
  afterAll(() => {
    for (const agent of agents) agent.destroy();
  });

  const database = use(() => createDatabase());
  const service = use(
    () => startServiceProcess({ DATABASE_URL: database.url, HOST: '127.0.0.1' }),
    (one) => one.end('SIGTERM'),
  );
  beforeAll(async () => {
    const page = await (await fetch(service.url + PAGE)).text();
    csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page)![1]!;
  });

  const from = (localAddress: string): Agent => {
    const agent = new Agent({ keepAlive: true, localAddress });
    agents.push(agent);
    return agent;
  };

  /** Submits the login form, and reads the answer to the end; gives the status. */
  function submit(agent: Agent, login: string, password: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const { port } = new URL(service.url);
      const options = { agent, host: '127.0.0.1', port, path: PAGE, method: 'POST', headers };
      const sent = request(options, (response) => {
        response.resume().on('end', () => resolve(response.statusCode!));
      });
      sent.on('error', reject).end(new URLSearchParams({ csrf_token, login, password }).toString());
    });
  }

  it('of a flood from one address keep nobody else waiting for long', async () => {
    const attacker = from('127.0.0.2');
    const person = from('127.0.0.1');
    const witness = new Witness(service);
    const begun = performance.now();
    const end = new AbortController();
    let [sent, hashed] = [0, 0];

    const flood = Array.from({ length: LINES }, async () => {
      while (!end.signal.aborted) {
        // Each attempt has another login, so a count for each login stops none of them.
        if ((await submit(attacker, `login-${sent++}`, 'wrong')) === 422) hashed++;
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    });
    const answers: number[] = [];
    for (let count = 0; count < SIGN_INS; count++) {
      answers.push(await submit(person, 'ada', 'analytical-engine'));
    }
    end.abort();
    await Promise.all(flood);
    const seconds = (performance.now() - begun) / 1000;

    report(`${sent} failed passwords, ${hashed} hashed`, sent * 512, await witness.stop());
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
