import { execFile } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describeError } from '../../src/operations/log.js';
import { isAway } from '../../src/provider/transport/provider-answer.js';
import {
  ProviderHttp,
  type ProviderRequest,
  type ProviderResponse,
} from '../../src/provider/transport/provider-http.js';
import { freePort } from '../support/free-port.js';
import { isInstalled, needs } from '../support/installed.js';
import { watchLateness, until } from '../support/waiting.js';
import { privateCa } from '../support/private-ca.js';
import { answerWith, RawProvider } from '../support/raw-provider.js';
import { prepare, use, useEach } from '../support/use.js';

const DIST = new URL('../../dist/src/provider/transport/provider-http.js', import.meta.url).href;
const PROXIES = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'];
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const FORM = {
  headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
  body: 'client_secret=s3cret&code=c0de',
} as const;

/**
 * When connections to a provider are made, kept and closed, and through what (docs/security.md#providers).
 */
describe('connections to a provider', () => {
  let http: ProviderHttp;
  const saved = { ...process.env };
  const removeProxies = (): void => {
    for (const name of PROXIES) for (const spelled of [name, name.toUpperCase()]) delete process.env[spelled];
  };
  beforeEach(() => removeProxies());
  afterEach(async () => {
    await http.onApplicationShutdown();
    removeProxies();
    Object.assign(process.env, saved);
  });
  const provider = useEach(() => RawProvider.start());
  beforeEach(() => {
    http = new ProviderHttp();
  });

  const send = (url = provider.url, more: Partial<ProviderRequest> = {}): Promise<ProviderResponse> =>
    http.send({ ...FORM, url, signal: new AbortController().signal, ...more });
  const failure = async (sent: Promise<unknown>): Promise<Error & { code?: unknown }> =>
    sent.then(
      () => Promise.reject(new Error('there was an answer')),
      (error: unknown) => error as Error,
    );

  describe('are kept', () => {
    it('one after the other, for one request at a time', async () => {
      for (let i = 0; i < 5; i++) {
        await send();
        await nextTurn(); // undici takes a connection again in the next turn of the event loop
      }
      expect(provider.sockets.length).toBe(1);
      provider.answer = () => undefined;
      const hanging = failure(send());
      await until(() => provider.requests.length === 6);
      provider.answer = answerWith(OK);
      await send();
      expect(provider.sockets.length).toBe(2);
      await http.onApplicationShutdown();
      await hanging;
    });

    it('for less than the 5 s of the usual server, also where one would keep them for longer', async () => {
      const other = await RawProvider.start();
      other.answer = answerWith('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\n{}');
      await send();
      await send(other.url);
      const [began, lateness] = [performance.now(), watchLateness()];
      await Promise.all([once(provider.sockets[0]!, 'close'), once(other.sockets[0]!, 'close')]);
      const kept = performance.now() - began;
      expect(kept).toBeGreaterThan(3000);
      expect(kept).toBeLessThan(4900 + 10 * lateness());
      await other.close();
    });

    it('for no time at all where the server says so', async () => {
      provider.answer = answerWith('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\n{}');
      await send();
      const [began, lateness] = [performance.now(), watchLateness()];
      await until(() => provider.open === 0);
      expect(performance.now() - began).toBeLessThan(900 + 10 * lateness());
    });

    it('until the server closes one: the next request goes over another', async () => {
      for (let i = 0; i < 20; i++) {
        await send();
        provider.sockets.at(-1)!.end();
        await send();
      }
      expect(provider.requests).toHaveLength(40);
    });

    it('and cut off with a request on its way, which is not sent again', async () => {
      await send();
      await nextTurn();
      provider.answer = (socket) => socket.destroy();
      expect(isAway(await failure(send()))).toBe(true);
      expect([provider.requests.length, provider.sockets.length]).toEqual([2, 1]);
    });
  });

  it('that hang hold up no others, and end with their signal', async () => {
    provider.answer = () => undefined;
    const deadline = new AbortController();
    const hanging = Array.from({ length: 100 }, () => failure(send(undefined, { signal: deadline.signal })));
    await until(() => provider.requests.length === 100);
    provider.answer = answerWith(OK);
    for (let i = 0; i < 20; i++) await send();
    deadline.abort();
    for (const { code } of await Promise.all(hanging)) expect(code).toBe('ERR_CANCELED');
    await until(() => provider.sockets.slice(0, 100).every(({ closed }) => closed));
  });

  describe('end with the signal', () => {
    it.each([
      ['before there is an answer', ''],
      ['in the headers', 'HTTP/1.1 200 OK\r\nA: '],
      ['in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{'],
    ])('%s', async (_name, bytes) => {
      const deadline = new AbortController();
      provider.answer = (socket) => socket.write(bytes, () => setImmediate(() => deadline.abort()));
      expect((await failure(send(undefined, { signal: deadline.signal }))).code).toBe('ERR_CANCELED');
      await until(() => provider.open === 0);
    });

    it('that has fallen already: nothing is sent', async () => {
      expect((await failure(send(undefined, { signal: AbortSignal.abort() }))).code).toBe('ERR_CANCELED');
      await send();
      expect(provider.requests).toHaveLength(1);
    });

    it('while they are made: what comes of them later is not used', async () => {
      const held: Socket[] = [];
      const front = createServer((socket) => held.push(socket)).listen(0, '127.0.0.1');
      await once(front, 'listening');
      const { port } = front.address() as { port: number };
      const deadline = new AbortController();
      const sent = failure(send(`https://127.0.0.1:${port}`, { signal: deadline.signal }));
      await until(() => held.length === 1); // and its TLS handshake is not answered
      deadline.abort();
      expect((await sent).code).toBe('ERR_CANCELED');
      for (const socket of held) socket.destroy();
      front.close();
    });

    it('before there is a connection: nothing is sent over it later', async () => {
      const deadline = new AbortController();
      const sent = failure(send(undefined, { signal: deadline.signal }));
      for (let turn = 0; turn < 100; turn++) await Promise.resolve(); // the connection needs a turn of the event loop
      deadline.abort();
      expect((await sent).code).toBe('ERR_CANCELED');
      await until(() => provider.sockets.length === 1);
      await send();
      expect(provider.requests).toHaveLength(1);
    });
  });

  // Windows knows no such limit.
  needs({ Unix: process.platform !== 'win32' }).it(
    'cannot be made without a file descriptor, and are made again once there is one',
    async () => {
      const script = `import { closeSync, openSync } from 'node:fs';
        const { ProviderHttp } = await import(${JSON.stringify(DIST)});
        const http = new ProviderHttp();
        const send = (url = '${provider.url}') => http.send({ ...${JSON.stringify(FORM)}, url, signal: AbortSignal.timeout(5000) })
          .then(({ status }) => status, ({ code }) => code);
        await send('http://127.0.0.1:1'); // nobody there; loads modules
        const files = [];
        try { for (;;) files.push(openSync('/dev/null')); } catch {}
        const first = await send();
        files.forEach((file) => closeSync(file));
        console.log(first, await send());
        process.exit();`;
      // The start needs that many: Node.js reads modules at once.
      const limited = [
        '-c',
        'ulimit -n 1024; exec "$0" --input-type=module -e "$1"',
        process.execPath,
        script,
      ];
      const { stdout } = await promisify(execFile)('sh', limited);
      expect(stdout).toBe('EMFILE 200\n');
    },
  );

  it('end when the service stops', async () => {
    provider.answer = () => undefined;
    const hanging = failure(send());
    await until(() => provider.requests.length === 1);
    await http.onApplicationShutdown();
    await hanging;
    await until(() => provider.open === 0);
  });

  it('that fail say by their code whether the provider is away, and nothing of what was sent', async () => {
    const nobody = await freePort();
    provider.answer = (socket) => socket.destroy();
    const errors = [
      await failure(send(`http://127.0.0.1:${nobody}`)),
      await failure(send(`http://localhost:${nobody}`)),
      await failure(send('http://name.invalid')),
      await failure(send()),
    ];
    provider.answer = (socket) => socket.resetAndDestroy();
    errors.push(await failure(send()));
    expect(errors.map(isAway)).toEqual([true, true, true, true, true]);
    expect(errors.slice(0, 3).map(({ code }) => code)).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ENOTFOUND']);
    expect(errors[0]!.message).toBe(`connect ECONNREFUSED 127.0.0.1:${nobody}`);
    provider.answer = answerWith('c0de s3cret\r\n');
    errors.push(await failure(send()));
    for (const error of errors) expect(JSON.stringify(describeError(error))).not.toMatch(/c0de|s3cret/);
  });

  it('lead to each address of localhost, and to literals of both families', async () => {
    for (const { address, family } of await lookup('localhost', { all: true })) {
      const one = await RawProvider.start(address);
      await send(`http://localhost:${one.port}`);
      await send(`http://${family === 6 ? `[${address}]` : address}:${one.port}`);
      expect(one.requests.map((bytes) => /^host: (.*):/im.exec(bytes)?.[1])).toEqual([
        'localhost',
        family === 6 ? `[${address}]` : address,
      ]);
      await one.close();
    }
  });

  describe('through a proxy', () => {
    const throughProxy = (variables: Record<string, string>): void => {
      Object.assign(process.env, variables);
      http = new ProviderHttp();
    };
    const far = 'http://provider.invalid:8080/exchange';

    it.each([
      ['http_proxy', 'http://'],
      ['all_proxy', 'http://'],
      ['http_proxy', ''],
    ])('where %s names one, with its credentials', async (variable, scheme) => {
      throughProxy({ [variable]: `${scheme}${scheme && 'me:pw@'}127.0.0.1:${provider.port}` });
      await send(far);
      const [line, ...headers] = provider.requests[0]!.toLowerCase().split('\r\n');
      expect(line).toBe(`post ${far} http/1.1`);
      expect(headers).toEqual(
        expect.arrayContaining([
          'host: provider.invalid:8080',
          'content-type: application/x-www-form-urlencoded',
          'accept: application/json',
          'user-agent: latchkey',
          FORM.body,
          ...(scheme ? ['proxy-authorization: basic bwu6chc='] : []),
        ]),
      );
    });

    it.each<[string, string, string]>([
      ['no redirect', 'HTTP/1.1 307 T\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n', '307'],
      ['64 KiB', `HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n${'x'.repeat(65_536)}`, '200'],
      [
        'no more',
        `HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n${'x'.repeat(65_537)}`,
        'maxContentLength',
      ],
      [
        'no gzip',
        'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}',
        'compressed its',
      ],
    ])('with the limits of every request: %s', async (_name, bytes, expected) => {
      throughProxy({ http_proxy: provider.url });
      provider.answer = answerWith(bytes);
      const result = await send(far).then(
        ({ status }) => String(status),
        ({ message }: Error) => message,
      );
      expect(result).toContain(expected);
      expect(provider.requests).toHaveLength(1);
    });

    it('are closed when the service stops', async () => {
      throughProxy({ http_proxy: provider.url });
      await send(far);
      const [began, lateness] = [performance.now(), watchLateness()];
      await http.onApplicationShutdown();
      await until(() => provider.open === 0);
      expect(performance.now() - began).toBeLessThan(3000 + 10 * lateness()); // an idle one ends after 4 s
    });

    it('as a tunnel where the address is https, so that the proxy sees no code', async () => {
      throughProxy({ https_proxy: `http://127.0.0.1:${provider.port}` });
      provider.answer = answerWith('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\n{}', true);
      await send('https://provider.invalid/exchange').catch(() => undefined);
      expect(provider.requests).toHaveLength(1);
      expect(provider.requests[0]).toMatch(/^CONNECT provider\.invalid:443 HTTP\/1\.1\r\n/);
      expect(provider.requests[0]).not.toMatch(/c0de|s3cret/);
    });

    it.each([
      '*',
      'provider.invalid',
      '.invalid',
      '*.invalid:8080',
      'a.example, provider.invalid:8080',
      'invalid',
      'invalid:8080',
      '.invalid a.example',
    ])('unless no_proxy is %s', async (list) => {
      throughProxy({ http_proxy: provider.url, no_proxy: list });
      expect((await failure(send(far))).code).toBe('ENOTFOUND');
      expect(provider.requests).toHaveLength(0);
    });

    it.each(['provider.invalid:80', 'invalid:80', 'er.invalid'])('but if no_proxy is %s', async (list) => {
      throughProxy({ http_proxy: provider.url, NO_PROXY: list });
      await send(far);
      expect(provider.requests).toHaveLength(1);
    });

    it('but never to this machine, or to an address of our own', async () => {
      const proxy = await RawProvider.start();
      throughProxy({ http_proxy: proxy.url, all_proxy: proxy.url });
      const spellings = ['127.0.0.1', 'localhost', '127.1', '0x7f.1', '2130706433', '0.0.0.0'];
      for (const host of spellings) await send(`http://${host}:${provider.port}`);
      const near = [
        '127.0.0.2',
        '127.255.255.254',
        '[::1]',
        '[::ffff:127.0.0.1]',
        'localhost.',
        'app.localhost',
      ];
      for (const host of near) await send(`http://${host}:${provider.port}`).catch(() => undefined);
      await failure(send(far, { direct: true }));
      expect(provider.requests.length).toBeGreaterThanOrEqual(spellings.length);
      expect(proxy.sockets).toEqual([]);
      await proxy.close();
    });
  });

  needs({ openssl: isInstalled('openssl') }).describe('over TLS', () => {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-provider-'));
    afterAll(() => rmSync(directory, { recursive: true, force: true }));
    const tls = prepare(() => privateCa(directory));
    const secure = use(() => {
      const { key, certificate } = tls.server;
      return RawProvider.start('127.0.0.1', { key: readFileSync(key), cert: readFileSync(certificate) });
    });

    it('need a certificate that is trusted, for the name that was asked', async () => {
      const error = await failure(send(`https://localhost:${secure.port}`));
      expect(error.code).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
      expect(isAway(error)).toBe(false);
      expect(secure.requests).toHaveLength(0);
    });

    it('trust NODE_EXTRA_CA_CERTS', async () => {
      const script = `const { ProviderHttp } = await import(${JSON.stringify(DIST)});
        const send = (url) => new ProviderHttp().send({ ...${JSON.stringify(FORM)}, url, signal: AbortSignal.timeout(5000) })
          .then(({ status }) => status, ({ code }) => code);
        console.log(await send('https://localhost:${secure.port}'), await send('https://127.0.0.1:${secure.port}'));
        process.exit();`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
        env: { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: tls.ca },
      });
      expect(stdout).toBe('200 ERR_TLS_CERT_ALTNAME_INVALID\n');
      expect(secure.requests).toHaveLength(1);
    });
  });
});
