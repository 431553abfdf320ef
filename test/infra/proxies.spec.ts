import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { get, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { Cluster } from '../support/cluster.js';
import { SERVICE_KEY } from '../support/service-process.js';
import { Endings } from '../support/endings.js';
import { EventStreamReader } from '../support/event-stream.js';
import { FaultHttp, FaultTally, FaultLoad } from './fault-load.js';
import { isFull } from './faults.js';
import { needs, isInstalled } from '../support/installed.js';
import { privateCa } from '../support/private-ca.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import type { ServiceProcess } from '../support/service-process.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { complaints, deployed, ProxyProcess, resetsIn } from './proxy-process.js';
import { freePort } from '../support/free-port.js';

const hasWebProxies = ['nginx', 'haproxy', 'openssl'].every(isInstalled);

type Kind = 'nginx' | 'haproxy';
type Changes = Readonly<Record<string, string>>;

/** Who a program becomes when root starts it is for root alone to say. */
const isRoot = process.getuid?.() === 0;
const ADDRESSES = ['10.0.0.11:3000', '10.0.0.12:3000', '10.0.0.13:3000'];

/** nginx or HAProxy before instances, with the configuration of deploy/ as it stands. */
class WebProxy {
  private process?: ProxyProcess;

  private constructor(
    private readonly kind: Kind,
    private readonly directory: string,
    private readonly port: number,
    /** What its clients have to trust. */
    readonly ca: string,
  ) {}

  /**
   * @param instances their URLs; if the file has more addresses, the last URL takes the rest
   * @param changes more of them, beside addresses and paths
   */
  static async before(kind: Kind, instances: readonly string[], changes: Changes = {}): Promise<WebProxy> {
    const directory = mkdtempSync(join(tmpdir(), `latchkey-${kind}-`));
    const { ca, server } = privateCa(directory, 'IP:127.0.0.1');
    const { certificate, key } = server;
    const proxy = new WebProxy(kind, directory, await freePort(), readFileSync(ca, 'utf8'));
    const both = join(directory, 'both.pem');
    writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'));
    const addresses = ADDRESSES.map((address, i): [string, string] => [
      address,
      `127.0.0.1:${new URL(instances[i] ?? instances.at(-1)!).port}`,
    ]);
    const other = String(await freePort());
    const paths: Changes =
      kind === 'nginx'
        ? {
            ...(!isRoot && { 'user www-data;': '' }),
            '/run/nginx.pid': join(directory, 'pid'),
            '/var/log/nginx/error.log': join(directory, 'error.log'),
            '/var/log/nginx/access.log': join(directory, 'access.log'),
            'listen 80;': `listen 127.0.0.1:${other};`,
            'listen 443 ssl;': `listen 127.0.0.1:${proxy.port} ssl;`,
            '/etc/ssl/id.example/fullchain.pem': certificate,
            '/etc/ssl/id.example/privkey.pem': key,
            'http {\n': `http {\n${temporaryPaths(directory)}`,
          }
        : {
            ...(!isRoot && { '    user haproxy\n    group haproxy\n': '' }),
            'log /dev/log local0': 'log stdout format raw local0',
            'maxconn 20000': 'maxconn 500', // it needs twice as many file descriptors
            'bind :80\n': `bind 127.0.0.1:${other}\n`,
            'bind :443 ': `bind 127.0.0.1:${proxy.port} `,
            '/etc/ssl/id.example/haproxy.pem': both,
          };
    const file = kind === 'nginx' ? 'nginx.conf' : 'haproxy.cfg';
    writeFileSync(proxy.file, deployed(file, { ...paths, ...Object.fromEntries(addresses), ...changes }));
    return proxy;
  }

  /** `https://127.0.0.1:<port>` */
  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** What the program says of the configuration; empty when it has nothing to say. */
  complaints(): string {
    return complaints(this.kind, this.kind === 'nginx' ? ['-t', '-c', this.file] : ['-c', '-f', this.file]);
  }

  async start(): Promise<this> {
    const args = this.kind === 'nginx' ? ['-g', 'daemon off;', '-c', this.file] : ['-db', '-f', this.file];
    this.process = await ProxyProcess.start(this.kind, args, this.port);
    return this;
  }

  /** All that it has logged. */
  readonly log = (): string => {
    const files = ['access.log', 'error.log'].map((name) => join(this.directory, name)).filter(existsSync);
    return [...files.map((file) => readFileSync(file, 'utf8')), this.process?.output()].join('\n');
  };

  /** Lines of the log on failed requests: answers with 5xx, and warnings of nginx. */
  errors(): string {
    const lines = this.log().split('\n');
    return lines.filter((line) => /\[error\]|\s5\d\d\s/.test(line)).join('\n');
  }

  resets(): number {
    return resetsIn(this.log());
  }

  async stop(): Promise<void> {
    await this.process?.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private get file(): string {
    return join(this.directory, 'configuration');
  }
}

/** nginx makes them at its start, by default where only root may. */
function temporaryPaths(directory: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return kinds.map((kind) => `    ${kind}_temp_path ${join(directory, kind)};\n`).join('');
}

const KINDS: Kind[] = ['nginx', 'haproxy'];
const NAMES = { nginx: 'nginx', haproxy: 'HAProxy' };
/** The files' times, a fraction of them: a stop then takes a second. */
const SHORTER = {
  nginx: { 'keepalive_timeout 3s': 'keepalive_timeout 300ms' },
  haproxy: { 'inter 1s': 'inter 200ms' },
};
/** The longest that an answer, and a client, may be silent. */
const BRIEF = {
  nginx: {
    'proxy_read_timeout 30s': 'proxy_read_timeout 2s',
    'proxy_send_timeout 30s': 'proxy_send_timeout 2s',
  },
  haproxy: { 'timeout client 60s': 'timeout client 2s', 'timeout server 30s': 'timeout server 2s' },
};

/** Paths with queries that no log may contain, even if no instance runs. */
const SECRET_PATHS = [
  '/callback?code=secret',
  '/Callback/?code=secret',
  '/oauth2/authorize?state=secret',
  '/providers/mock/oauth2/authorize?state=secret',
  '/socket.io/?EIO=4&transport=polling&sid=secret',
];

needs({ 'nginx, haproxy, openssl': hasWebProxies }).describe('a proxy', () => {
  it.each(KINDS)('%s passes the time of the service on: clients prove by it', async (kind) => {
    const endings = new Endings();
    const date = 'Sat, 21 Nov 2026 10:00:00 GMT';
    const other = createServer((_request, response) => response.writeHead(200, { Date: date }).end('{}'));
    endings.after(other.listen(0, '127.0.0.1'), () => void other.close());
    await once(other, 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const proxy = endings.after(await WebProxy.before(kind, [url, url]), (one) => one.stop());
    await proxy.start();
    const asked = get(`${proxy.url}/me`, { ca: proxy.ca });
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    await endings.run();
    expect(answer.rawHeaders.filter((_, i, all) => all[i - 1]?.toLowerCase() === 'date')).toEqual([date]);
  });
});

needs({ 'nginx, haproxy, openssl': hasWebProxies }).describe('bodies', () => {
  /** KiB by path: docs/security.md#requests (test/project/body-limits.spec.ts). */
  const LIMITS: readonly (readonly [path: string, kibibytes: number])[] = [
    ['/oauth2/refresh', 64],
    ['/push', 64],
    ['/push/batch/', 64],
    ['/users/scim/v2/', 64],
    ['/push/batch', 1024],
    ['/push/batch?x', 1024],
    ['/scim/v2/corp/Users', 4096],
    ['/scim/v2/corp/Groups/5e', 4096],
  ];

  const endings = new Endings();
  afterEach(() => endings.run());

  it.each(KINDS)('%s takes as many bytes as each path, and a head of 16 KB', async (kind) => {
    const service = createServer((received, response) => {
      received.resume().once('end', () => response.end()); // also to health checks
    });
    endings.after(service.listen(0, '127.0.0.1'), () => {
      service.closeAllConnections();
      service.close();
    });
    await once(service, 'listening');
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const proxy = endings.after(await WebProxy.before(kind, [url]), (one) => one.stop());
    expect(proxy.complaints()).toBe('');
    await proxy.start();
    const send = async (path: string, bytes: number, isFitting = true, headers = {}): Promise<unknown[]> => {
      const sent = request(proxy.url + path, {
        ca: proxy.ca,
        method: 'POST',
        headers: { ...headers, 'Content-Length': bytes },
      });
      sent.on('error', () => undefined);
      if (isFitting) sent.end(Buffer.alloc(bytes, ' '));
      else sent.flushHeaders(); // the length alone is refused: the connection closes, a body would fail
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      let text = '';
      for await (const chunk of answer) text += String(chunk);
      sent.destroy();
      return [path, answer.statusCode, text.includes('"payload_too_large"')];
    };
    for (const [path, kibibytes] of LIMITS) {
      expect(await send(path, kibibytes * 1024)).toEqual([path, 200, false]);
      expect(await send(path, kibibytes * 1024 + 1, false)).toEqual([path, 413, true]);
    }
    expect(await send('/push', 1, true, { Authorization: 'x'.repeat(15_500) })).toEqual([
      '/push',
      200,
      false,
    ]);
  });
});

/** nginx and HAProxy with the files of deploy/ as they stand, but for addresses and paths. */
needs({ 'nginx, haproxy, openssl': hasWebProxies, 'redis-server': hasRedis }).describe('proxies', () => {
  let cluster: Cluster;
  const endings = new Endings();
  let env: Record<string, string>;

  beforeEach(async () => {
    const redis = endings.after(await RedisServer.start(), (server) => server.kill());
    cluster = endings.after(await Cluster.create(), (all) => all.close());
    env = { TRUST_PROXY: '1', REDIS_URL: redis.url };
  });
  afterEach(() => endings.run());

  async function proxyBefore(kind: Kind, instances: readonly ServiceProcess[], changes = {}) {
    const urls = instances.map(({ url }) => url);
    const proxy = endings.after(await WebProxy.before(kind, urls, changes), (one) => one.stop());
    expect(proxy.complaints()).toBe('');
    return proxy.start();
  }
  async function loadOn({ url, ca }: WebProxy, people?: number): Promise<FaultLoad> {
    return endings.after(await FaultLoad.start([url], people, ca), (load) => load.close());
  }
  function expectNoFailure(load: FaultLoad, proxy: WebProxy, stops: number): void {
    if (load.unexcused().length > 0) process.stderr.write(proxy.errors());
    expect(load.unexcused().slice(Math.min(proxy.resets(), stops))).toEqual([]);
  }

  it('an instance of two is stopped: no request fails; the proxies pass on what they should', async () => {
    const instances = await Promise.all([1, 2].map(() => cluster.start({ ...env, SHUTDOWN_DELAY: '1' })));
    const proxies = await Promise.all(KINDS.map((kind) => proxyBefore(kind, instances, SHORTER[kind])));
    const loads = await Promise.all(proxies.map((proxy) => loadOn(proxy, 4)));
    await Promise.all(loads.map((load) => load.successes(50)));
    expect(await instances[0]!.end('SIGTERM')).toBe(0);
    await Promise.all(loads.map((load) => load.successes(50)));
    for (const [i, load] of loads.entries()) {
      await load.finish(`one of two instances stopped behind ${NAMES[KINDS[i]!]}`);
      expectNoFailure(load, proxies[i]!, 1);
    }

    for (const { url, ca, log } of proxies) {
      const http = endings.after(new FaultHttp(new FaultTally(), ca), (client) => client.close());
      const large = await http.ask(`${url}/oauth2/refresh`, { refresh_token: 'x'.repeat(65_536) });
      expect([large.status, large.body['error']]).toEqual([413, 'payload_too_large']);
      const path = `/${randomBytes(8).toString('hex')}`;
      await http.ask(url + path, undefined, undefined, { 'X-Forwarded-For': '203.0.113.9' });
      await until(() => instances[1]!.output().includes(path));
      expect(instances[1]!.output()).toContain('"address":"127.0.0.1"');
      expect(instances[1]!.output()).not.toContain('203.0.113.9');
      await until(() => log().includes(path));
      expect(log()).toContain('/oauth2/authorize');
      expect(log()).not.toContain('provider=stub'); // a query, like those with codes and states
    }

    await instances[1]!.end('SIGKILL');
    for (const { url, ca, log } of proxies) {
      const http = endings.after(new FaultHttp(new FaultTally(), ca), (client) => client.close());
      for (const path of SECRET_PATHS) expect((await http.ask(url + path)).status).toBe(503);
      expect((await http.ask(`${url}/me`)).status).toBe(503); // its line comes after theirs
      await until(() => log().includes('/me'));
      expect(log()).not.toContain('secret');
      const { status, body } = await http.ask(`${url}/oauth2/refresh`, { refresh_token: 'x' });
      expect([status, body['error']]).toEqual([503, 'server_error']);
    }
  });

  it('a push through each of them arrives at a socket that is open through it', async () => {
    const instance = await cluster.start(env);
    const { access_token, user_id } = await signIn(instance.url);
    for (const kind of KINDS) {
      const { url, ca } = await proxyBefore(kind, [instance], SHORTER[kind]);
      const opened = await SocketClient.connect(url, access_token, { ca });
      const socket = endings.after(opened, (one) => one.close());
      const http = endings.after(new FaultHttp(new FaultTally(), ca), (client) => client.close());
      const push = { user_id, event: `news.${kind}`, data: kind };
      expect((await http.ask(`${url}/push`, push, SERVICE_KEY)).status).toBe(202);
      expect((await socket.next(`news.${kind}`)).data).toBe(kind);
    }
  });

  it('the stream of ended sessions comes through at once, and outlives every time limit', async () => {
    const instance = await cluster.start(env);
    const streamBehind = async (kind: Kind): Promise<EventStreamReader> => {
      const { url, ca } = await proxyBefore(kind, [instance], { ...SHORTER[kind], ...BRIEF[kind] });
      const reader = await EventStreamReader.open(url, SERVICE_KEY, undefined, { ca });
      return endings.after(reader, (one) => one.close());
    };
    const readers = await Promise.all(KINDS.map(streamBehind));
    for (const { readings } of readers) await until(() => readings.length >= 6); // 3 s: longer than the limits
    const tokens = await signIn(instance.url);
    await bearer(instance.url, tokens.access_token).post('/sign-out').expect(204);
    const signedOut = performance.now();
    const sid = claimsOf(tokens.access_token)['sid'] as string;
    for (const reader of readers) {
      await until(() => reader.sessions.includes(sid));
      const { at } = reader.events.find(({ data }) => data['session_id'] === sid)!;
      expect(at - signedOut).toBeLessThan(1500);
      const gaps = reader.readings.slice(1).map((time, i) => time - reader.readings[i]!);
      expect(Math.max(...gaps)).toBeLessThan(1500); // nothing waits in a buffer
    }
  });

  needs({ 'test:all -- infra, in full': isFull }).it.each(KINDS)(
    'a rolling restart of three instances behind %s: no request fails',
    async (kind) => {
      const all = { ...env, SHUTDOWN_DELAY: '5' };
      const instances = await Promise.all([1, 2, 3].map(() => cluster.start(all)));
      const proxy = await proxyBefore(kind, instances);
      const load = await loadOn(proxy, 12);
      await load.successes(200);
      for (const instance of instances) {
        expect(await instance.end('SIGTERM')).toBe(0);
        await cluster.start({ ...all, PORT: new URL(instance.url).port });
      }
      await load.successes(200);
      await load.finish(`rolling restart of three instances behind ${NAMES[kind]}`);
      expectNoFailure(load, proxy, instances.length);
    },
  );

  needs({ 'test:all -- infra, in full': isFull }).it.each(KINDS)(
    'each of three instances behind %s is killed: nothing that was acknowledged is lost',
    async (kind) => {
      const instances = await Promise.all([1, 2, 3].map(() => cluster.start(env)));
      const load = await loadOn(await proxyBefore(kind, instances));
      await load.successes(200);
      for (const instance of instances) {
        await instance.end('SIGKILL');
        await cluster.start({ ...env, PORT: new URL(instance.url).port });
        await load.successes(100);
      }
      await load.finish(`each of three instances killed behind ${NAMES[kind]}`);
    },
  );
});
