import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/cluster.js';
import { signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { Witness, report } from './attack.js';
import { prepare, use } from '../support/use.js';

const HANDSHAKES = 600;
const AT_ONCE = 50;
/** Transports of one address that may wait at once (docs/realtime.md). */
const MAY_WAIT = 500;
/** Handshakes that take two turns of the event loop (admission.ts): some exceed the limit then, and are closed. */
const OF_TWO_TURNS = 16;

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

/**
 * Handshakes of long polling that are never continued: 40,000 from one address were all accepted, held 1.4 GiB, and
 * would have ended only at their next poll, which never came.
 */
describe('handshakes that are never continued', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  afterAll(() => agent.destroy());

  const cluster = use(() => Cluster.create());
  const service = prepare(() => cluster.start({ TRUST_PROXY: 'loopback' }));

  async function get(query: string, from: string): Promise<Answer> {
    const path = `/socket.io/?EIO=4&transport=polling${query}`;
    const call = request(`${service.url}${path}`, { agent, headers: { 'X-Forwarded-For': from } });
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    const retryAfter = response.headers['retry-after'];
    return { status: response.statusCode!, retryAfter, body: await text(response) };
  }

  it('are limited for one address, and gone for good after ten seconds; other clients come in', async () => {
    const tokens = await signIn(service.url);
    const from = (address: string) => ({ extraHeaders: { 'X-Forwarded-For': address } });
    const witness = new Witness(service);
    const answers: Answer[] = [];
    const began = performance.now();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (answers.length < HANDSHAKES) answers.push(await get('', '192.0.2.66'));
      }),
    );
    const lasted = performance.now() - began;
    const taken = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 429);
    expect(taken.length + refused.length).toBe(answers.length);
    expect(taken.length).toBeGreaterThanOrEqual(MAY_WAIT);
    // On a slow machine the first ones are gone before the last ones come.
    const most = (MAY_WAIT + OF_TWO_TURNS) * (1 + Math.floor(lasted / 10_000));
    expect(taken.length).toBeLessThanOrEqual(most);
    for (const { body, retryAfter } of refused) {
      expect(JSON.parse(body)).toEqual({ error: 'slow_down', error_description: expect.any(String) });
      expect(retryAfter).toMatch(/^[1-9]\d?$/);
    }
    await expect(
      SocketClient.connect(service.url, tokens.access_token, from('192.0.2.66')),
    ).rejects.toThrow();
    const other = await SocketClient.connect(service.url, tokens.access_token, from('192.0.2.1'));

    const cost = await witness.stop();
    report(`${answers.length} handshakes, ${taken.length} taken`, answers.length * 200, cost);
    if (cost.memory > 0) expect(cost.memory).toBeLessThan(100);
    expect(cost.gap).toBeLessThan(5000);

    // The last one that was taken was the last to be closed: none of them comes back at a poll.
    const sids = taken.map(({ body }) => (JSON.parse(body.slice(1)) as { sid: string }).sid);
    while ((await get('', '192.0.2.66')).status === 429) await delay(200);
    await delay(10_000 - Math.min(10_000, performance.now() - began - lasted)); // the last ones need this long
    await expect(get(`&sid=${sids.at(-1)}`, '192.0.2.66')).resolves.toMatchObject({ status: 400 });
    await expect(get(`&sid=${sids[0]}`, '192.0.2.66')).resolves.toMatchObject({ status: 400 });
    const back = await SocketClient.connect(service.url, tokens.access_token, from('192.0.2.66'));
    expect(other.disconnects).toEqual([]);
    other.close();
    back.close();
  });
});
