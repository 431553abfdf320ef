import { webcrypto } from 'node:crypto';
import { FakeService, SERVICE_KEY } from '../../packages/server/test/support/fake-service.js';
import { until } from '../support/waiting.js';
import type { Api, ApiOptions } from './real-service.js';

const JWKS = '/.well-known/jwks.json';
const TOKENS_A_SECOND = 60;
/** For the median of valid tokens, in milliseconds: far above it on a busy machine, far below a queue behind pauses of a second. */
const LIMIT_MS = 5000;

/** An API, with few threads, gets tokens with made-up key ids. Prints a row of figures. */
export function underMadeUpTokens(language: string, start: (options: ApiOptions) => Promise<Api>): void {
  it('tokens with made-up key ids delay neither valid tokens nor a new key', async () => {
    const service = await FakeService.start();
    const api = await start({
      issuer: service.url,
      url: service.url,
      serviceKey: SERVICE_KEY,
      whenAway: 'accept',
    });
    const stop = new AbortController();
    const get = (token: string): Promise<Response> =>
      fetch(`${api.url}/me`, { headers: { authorization: `Bearer ${token}` }, signal: stop.signal });
    const statusOf = async (token: string): Promise<number> => {
      const answer = await get(token);
      await answer.arrayBuffer();
      return answer.status;
    };
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
    const { privateKey } = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const answers: [number, string | null][] = [];
    const sendMadeUp = async (): Promise<void> => {
      const answer = await get(await service.token({ kid: `made-up-${Math.random()}` }, privateKey));
      await answer.arrayBuffer();
      answers.push([answer.status, answer.headers.get('retry-after')]);
    };
    /** Median latency of 200 valid tokens, four at a time. */
    const measure = async (): Promise<number> => {
      const token = await service.token();
      const latencies: number[] = [];
      const begin = performance.now();
      const calls = Array.from({ length: 4 }, async () => {
        while (latencies.length < 200) {
          const began = performance.now();
          if (began - begin > 90_000) throw new Error('200 valid tokens are not answered in 90 s');
          expect(await statusOf(token)).toBe(200);
          latencies.push(performance.now() - began);
        }
      });
      await Promise.all(calls);
      return Math.round(latencies.toSorted((a, b) => a - b)[100]!);
    };
    const fetches = (): number => service.count(JWKS);

    let load: NodeJS.Timeout | undefined;
    try {
      const good = await service.token();
      await until(async () => (await statusOf(good)) === 200);
      load = setInterval(() => void sendMadeUp().catch(() => undefined), 1000 / TOKENS_A_SECOND);
      const first = fetches();
      await until(() => fetches() >= first + 2);
      const loaded = await measure();
      expect(loaded).toBeLessThan(LIMIT_MS);

      await service.addKey('k2');
      const published = fetches();
      const ofNewKey = await service.token({ kid: 'k2' });
      await until(async () => (await statusOf(ofNewKey)) === 200);
      expect(fetches() - published).toBeLessThanOrEqual(2); // one may be on its way

      const { jwks } = service;
      service.jwks = () => undefined; // the service no longer answers about keys
      const stalled = fetches();
      await until(() => fetches() >= stalled + 2); // one fetch has failed
      const away = await measure();
      expect(away).toBeLessThan(LIMIT_MS);
      service.jwks = jwks;
      await service.addKey('k3');
      const last = await service.token({ kid: 'k3' });
      await until(async () => (await statusOf(last)) === 200);

      // Only the request that begins a fetch knows that its key does not exist.
      const unknown = answers.filter(([status]) => status === 401).length;
      expect(unknown).toBeLessThanOrEqual(fetches());
      expect(new Set(answers.filter(([status]) => status !== 401).map(String))).toEqual(new Set(['503,1']));
      console.info(`${language}: ${JSON.stringify({ loaded, away, madeUp: answers.length, unknown })}`);
    } finally {
      clearInterval(load);
      stop.abort();
      await api.close();
      await service.close();
    }
  });
}
