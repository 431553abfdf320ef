import { Agent, request as send, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { EXAMPLE } from '../openapi/examples.js';
import { generatedRequest, type GeneratedRequest } from './support/openapi/generated-request.js';
import { LivingService, SERVICE_KEY, type Living } from './support/openapi/living-values.js';
import type { Answered } from './support/openapi/watch-answers.mjs';

const REQUESTS = 500;
/** A run that failed is repeated with the seed that it printed. */
const SEED = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
/** Sign-outs are among the requests, and states are spent. */
const RENEW_EVERY = 10;

describe('requests that are generated from the document', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let living: LivingService;

  beforeAll(async () => {
    living = await LivingService.start();
  });
  afterAll(async () => {
    agent.destroy();
    await living?.close();
  });

  function headersOf({ token, headers }: GeneratedRequest, live: Living): Record<string, string> {
    const credentials = {
      accessToken: `Bearer ${live(EXAMPLE.accessToken)}`,
      serviceKey: `Bearer ${SERVICE_KEY}`,
      garbage: 'Bearer nonsense',
      basic: `Basic ${Buffer.from(`x:${SERVICE_KEY}`).toString('base64')}`,
    };
    return token === 'none' ? headers : { ...headers, Authorization: credentials[token] };
  }

  async function call(generated: GeneratedRequest, live: Living): Promise<Answered> {
    const { method } = generated;
    const url = live(generated.url);
    const body = Buffer.from(live(generated.body ?? ''));
    // Node.js sends GET and DELETE without it, so that a body would be taken for the next request.
    const length = generated.body === undefined ? {} : { 'Content-Length': body.length };
    const headers = { ...headersOf(generated, live), ...length };
    const calling = send(living.url, { method, path: url, headers, agent });
    calling.end(body);
    const [answer] = (await once(calling, 'response')) as [IncomingMessage];
    const isEndless = answer.headers['content-type'] === 'text/event-stream';
    const answered = isEndless ? undefined : await text(answer);
    if (isEndless) calling.destroy();
    return { method, url, status: answer.statusCode!, headers: answer.headers, body: answered };
  }

  it(`${REQUESTS} of them are answered as it says, so with HTML only where it has a page, and never with 5xx`, async () => {
    const statuses: Record<string, number> = {};
    let live = await living.live();
    let sent = 0;
    process.stdout.write(`  seed of the requests: ${SEED}\n`);
    const property = fc.asyncProperty(generatedRequest, async (generated) => {
      if (++sent % RENEW_EVERY === 0) live = await living.live();
      const answer = await call(generated, live);
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      expect(globalThis.faultOf(answer)).toBeUndefined();
      expect(answer.status < 500 || answer.url.startsWith('/health/ready')).toBe(true);
    });
    const started = performance.now();
    await fc.assert(property, { numRuns: REQUESTS, seed: SEED, verbose: 1 });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stdout.write(`  ${sent} requests in ${seconds} s: ${JSON.stringify(statuses)}\n`);
    expect(statuses['200']).toBeGreaterThan(REQUESTS / 20);
    expect(statuses['401']).toBeGreaterThan(0);
  }, 900_000);
});
