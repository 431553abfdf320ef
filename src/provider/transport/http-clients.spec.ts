import { getEventListeners } from 'node:events';
import { AxiosError } from 'axios';
import { answerWith, RawProvider } from '../../../test/support/raw-provider.js';
import { axiosOverUndici } from './http-clients.js';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

/**
 * What axios is over undici, beside what test/provider/provider-http.spec.ts and
 * test/provider/provider-connections.spec.ts see of it.
 */
describe('axios over undici', () => {
  let provider: RawProvider;
  let way: ReturnType<typeof axiosOverUndici>;
  beforeEach(async () => {
    provider = await RawProvider.start();
    way = axiosOverUndici(10);
  });
  afterEach(async () => {
    await way.close();
    await provider.close();
  });

  const { signal: none } = new AbortController();
  const send = (signal = none): Promise<unknown> =>
    way.http.request({ method: 'GET', url: provider.url, signal });
  const failure = (sent: Promise<unknown>): Promise<AxiosError> =>
    sent.then(
      () => Promise.reject(new Error('there was an answer')),
      (error: unknown) => error as AxiosError,
    );

  it.each<[string, string, boolean]>([
    ['an answer', OK, true],
    ['an answer that is too large', `HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n${'x'.repeat(11)}`, false],
    ['no answer', '', false],
  ])(
    'leaves nothing at the signal after %s: one signal may be that of many requests',
    async (_name, bytes, ok) => {
      provider.answer = answerWith(bytes, true);
      const { signal } = new AbortController();
      const [{ status }] = await Promise.allSettled([send(signal)]);
      expect(status).toBe(ok ? 'fulfilled' : 'rejected');
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    },
  );

  it('listens to the signal meanwhile', async () => {
    const controller = new AbortController();
    provider.answer = () => controller.abort();
    expect(await failure(send(controller.signal))).toMatchObject({
      code: 'ERR_CANCELED',
      name: 'CanceledError',
    });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('ends its connections when it is closed, and takes no request then', async () => {
    await send();
    await way.close();
    expect((await failure(send())).message).toMatch(/destroyed/);
  });
});
