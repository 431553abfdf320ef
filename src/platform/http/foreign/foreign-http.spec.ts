import { subscribe } from 'node:diagnostics_channel';
import type { lookup } from 'node:dns';
import { jest } from '@jest/globals';
import { answerWith, RawProvider } from '../../../../test/support/raw-provider.js';
import { ForeignHttp } from './foreign-http.js';

const ANYWHERE = { timeoutMs: 10_000, reach: 'anywhere' } as const;
const INTERNET = { timeoutMs: 10_000, reach: 'internet', setting: 'WEBHOOK_PRIVATE' } as const;

/** Global unicast, not assigned: a connection to it fails. */
const UNASSIGNED = '2000::1';

describe('the HTTP client for foreign addresses', () => {
  let receiver: RawProvider;
  let http: ForeignHttp;
  beforeEach(async () => {
    receiver = await RawProvider.start();
    receiver.answer = answerWith('HTTP/1.1 204 No Content\r\n\r\n');
  });
  afterEach(async () => {
    await http.close();
    await receiver.close();
  });

  const post = async (url: string): Promise<number> =>
    (await http.post(url, { 'webhook-id': 'x' }, '{}')).status;
  /** A resolver with these answers, one after the other, and then the last one again. */
  function resolver(...answers: string[][]): typeof lookup & { hosts: string[] } {
    const hosts: string[] = [];
    const resolve = (host: string, _options: unknown, callback: (...result: unknown[]) => void): void => {
      const addresses = answers[Math.min(hosts.push(host), answers.length) - 1]!;
      const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      setImmediate(callback, null, all);
    };
    return Object.assign(resolve, { hosts }) as unknown as typeof lookup & { hosts: string[] };
  }

  it('sends a POST, and returns the status; a redirect is not followed, and no proxy is asked', async () => {
    http = new ForeignHttp(ANYWHERE);
    const proxy = 'http://127.0.0.1:9';
    Object.assign(process.env, { http_proxy: proxy, HTTP_PROXY: proxy, ALL_PROXY: proxy });
    try {
      expect(await post(`${receiver.url}/a?b=c`)).toBe(204);
      receiver.answer = answerWith(
        `HTTP/1.1 307 Temporary Redirect\r\nLocation: ${receiver.url}/other\r\nContent-Length: 0\r\n\r\n`,
      );
      expect(await post(receiver.url)).toBe(307);
    } finally {
      for (const name of ['http_proxy', 'HTTP_PROXY', 'ALL_PROXY']) delete process.env[name];
    }
    expect(receiver.requests).toHaveLength(2);
    expect(receiver.requests[0]).toMatch(
      /^POST \/a\?b=c HTTP\/1\.1\r\n[^]*webhook-id: x\r\n[^]*\r\n\r\n\{\}$/,
    );
  });

  describe('without WEBHOOK_PRIVATE', () => {
    it.each(['127.0.0.1', '[::1]', 'localhost', '[::ffff:127.0.0.1]', '0.0.0.0', '127.1'])(
      'refuses %s',
      async (host) => {
        http = new ForeignHttp(INTERNET);
        await expect(post(`http://${host}:${receiver.port}`)).rejects.toThrow('in a private network');
        expect(receiver.sockets).toEqual([]);
      },
    );

    it.each([
      [['127.0.0.1']],
      [['::1']],
      [['::ffff:127.0.0.1']],
      [[UNASSIGNED, '127.0.0.1']],
      [['127.0.0.1', UNASSIGNED]],
      [['169.254.169.254']],
      [[]],
    ])('refuses a name that resolves to %j', async (addresses) => {
      const resolve = resolver(addresses);
      http = new ForeignHttp(INTERNET, resolve);
      await expect(post(`http://hooks.example:${receiver.port}`)).rejects.toThrow('in a private network');
      expect(resolve.hosts).toEqual(['hooks.example']);
      expect(receiver.sockets).toEqual([]);
    });

    it('connects to the address that was checked: a name that changes in between leads nowhere else', async () => {
      const resolve = resolver([UNASSIGNED], ['127.0.0.1']);
      http = new ForeignHttp(INTERNET, resolve);
      await expect(post(`http://hooks.example:${receiver.port}`)).rejects.toThrow(/2000::1|Timeout/);
      expect(resolve.hosts).toHaveLength(1);
      await expect(post(`http://hooks.example:${receiver.port}`)).rejects.toThrow('in a private network');
      expect(receiver.sockets).toEqual([]);
    });
  });

  it('keeps nothing of hosts that cannot be reached, however many', async () => {
    http = new ForeignHttp(INTERNET, resolver(['10.0.0.1']));
    const hosts = Array.from({ length: 1000 }, (_, i) => `https://host-${i}.example/`);
    for (const url of hosts) await expect(post(url)).rejects.toThrow('in a private network');
    const { agent } = http as unknown as { agent: { stats: object } };
    expect(Object.keys(agent.stats)).toEqual([]);
  });

  it('with WEBHOOK_PRIVATE, a name may resolve to a private address', async () => {
    http = new ForeignHttp(ANYWHERE, resolver(['127.0.0.1']));
    expect(await post(`http://hooks.example:${receiver.port}`)).toBe(204);
  });

  it('sends nothing once the time limit is over, as after a pause of the process', async () => {
    const now = Date.now();
    http = new ForeignHttp(ANYWHERE, resolver(['127.0.0.1']));
    const sent = post(`http://hooks.example:${receiver.port}`);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(now + 10_500);
    try {
      await expect(sent).rejects.toThrow('the call began too late');
    } finally {
      clock.mockRestore();
    }
    expect(receiver.requests).toEqual([]);
  });

  /** Sends a POST. @returns what the time limit calls */
  function postWithLimit(url: string): { sent: ReturnType<ForeignHttp['post']>; late: () => void } {
    const timer = jest.spyOn(globalThis, 'setTimeout');
    const sent = http.post(url, {}, '{}');
    const [limit] = timer.mock.calls.filter(([, ms]) => ms === 10_000);
    timer.mockRestore();
    return { sent, late: limit![0] };
  }

  it('fails without a status within the time limit', async () => {
    receiver.answer = () => undefined;
    http = new ForeignHttp(ANYWHERE);
    const { sent, late } = postWithLimit(receiver.url);
    while (receiver.requests.length === 0) await new Promise(setImmediate);
    late();
    await expect(sent).rejects.toThrow('no answer within 10 s');
  });

  it('fails within the time limit if there is no connection, and sends nothing later', async () => {
    let found: () => void = () => undefined;
    const resolve = (_host: string, _options: unknown, callback: (...result: unknown[]) => void): void => {
      found = () => callback(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    http = new ForeignHttp(ANYWHERE, resolve as unknown as typeof lookup);
    const { sent, late } = postWithLimit(`http://hooks.example:${receiver.port}`);
    await new Promise(setImmediate);
    late();
    await expect(sent).rejects.toThrow('no answer within 10 s');
    found();
    expect(await post(receiver.url)).toBe(204);
    expect(receiver.requests.length).toBe(1);
  });

  it('returns the body, or why there is none', async () => {
    http = new ForeignHttp(ANYWHERE);
    const answers = async (bytes: string): Promise<Buffer | Error> => {
      receiver.answer = answerWith(`HTTP/1.1 200 OK\r\n${bytes}`, true);
      return (await http.post(receiver.url, {}, '{}')).body;
    };
    expect(await answers('Content-Length: 3\r\n\r\nabc')).toEqual(Buffer.from('abc'));
    expect(await answers(`Content-Length: 65536\r\n\r\n${'x'.repeat(65_536)}`)).toHaveLength(65_536);
    const large = await answers(`Content-Length: 65537\r\n\r\n${'x'.repeat(65_537)}`);
    expect(large).toEqual(new Error('the answer is larger than 64 KiB'));
    expect(await answers('Content-Length: 3\r\n\r\nab')).toBeInstanceOf(Error);
    receiver.answer = answerWith('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab');
    const headers = new Promise((resolve) => subscribe('undici:request:headers', resolve));
    const { sent, late } = postWithLimit(receiver.url);
    await headers;
    late();
    expect((await sent).body).toEqual(new Error('no answer within 10 s'));
  });

  it('a status counts, even if the body never ends or the connection is lost', async () => {
    http = new ForeignHttp(ANYWHERE);
    receiver.answer = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc');
      setTimeout(() => socket.destroy(), 50).unref();
    };
    expect(await post(receiver.url)).toBe(200);
    receiver.answer = (socket) => {
      const piece = `ffff\r\n${'x'.repeat(0xffff)}\r\n`;
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const more = (): void => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.on('drain', more);
      more();
    };
    expect(await post(receiver.url)).toBe(200);
  });
});
