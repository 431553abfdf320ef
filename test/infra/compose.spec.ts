import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_KEY } from '../support/service-process.js';
import { createEmptyDatabase } from '../support/database.js';
import { composeFile, type ComposeService, MadeSecrets } from '../support/deployment-files.js';
import { Endings } from '../support/endings.js';
import { FaultLoad } from './fault-load.js';
import { isFull } from './faults.js';
import { freePort } from '../support/free-port.js';
import { isInstalled, needs } from '../support/installed.js';
import { complaints, deployed, ProxyProcess, resetsIn } from './proxy-process.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { StubProvider } from '../support/stub-provider.js';

const PROFILE = { REDIS_URL_FILE: '/run/secrets/redis_url' };
/** All of a test's clients have one address. Rate limits would count them together. */
const LIMITS = Object.fromEntries(
  ['AUTHORIZE', 'TOKEN', 'REFRESH', 'CONNECT'].map((name) => [`RATE_LIMIT_${name}`, '100000']),
);

/**
 * What docker-compose.yml describes, as processes of this machine: its environment, secrets, commands and configuration as they
 * stand there, but for addresses and paths, which containers have to themselves. The images are not part of it.
 */
class ComposeStack {
  private constructor(
    private readonly made: MadeSecrets,
    private readonly services: Readonly<Record<string, ComposeService>>,
    /** What is in `.env`. */
    private readonly env: Readonly<Record<string, string>>,
    readonly url: string,
  ) {}

  /**
   * PostgreSQL has an empty database; nginx is started by `proxy()`, the instances by `instance()`.
   * @param redis with its profile
   */
  static async create(endings: Endings, redis: boolean): Promise<ComposeStack> {
    const made = endings.after(new MadeSecrets(), (one) => one.remove());
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    const database = endings.after(await createEmptyDatabase(), (one) => one.close());
    made.replace('database_url', () => database.url);
    made.replace('service_keys', (keys) => `${keys},${SERVICE_KEY}`);

    const url = `http://localhost:${await freePort()}`;
    const env = { PUBLIC_URL: url, ...provider.env(), ...LIMITS, ...(redis && PROFILE) };
    const { services } = composeFile('docker-compose.yml', env);
    if (redis) {
      const [, file, ...options] = services['redis']!.command!;
      const { conf } = made.environment({ conf: file! }) as { conf: string };
      const server = endings.after(await RedisServer.start('--include', conf, ...options), (one) =>
        one.kill(),
      );
      made.replace('redis_url', (text) => text.replace('@redis:6379', `@127.0.0.1:${server.port}`));
    }
    return new ComposeStack(made, services, env, url);
  }

  /** @param changes settings to replace in the file; with a port, the service starts again on it */
  async instance(name: string, changes: Readonly<Record<string, string>>): Promise<ServiceProcess> {
    // The image's environment, then `env_file`, then the service's own: the last one wins.
    const { environment } = this.services[name]!;
    const all = { NODE_ENV: 'production', ...this.env, ...this.made.environment(environment!) };
    return startServiceProcess({
      ...all,
      SECRET_KEY: '',
      SERVICE_KEYS: '',
      PORT: String(await freePort()),
      ...changes,
    });
  }

  /** @param changes more of them in nginx-compose.conf, beside addresses and paths */
  async proxy(
    instances: readonly ServiceProcess[],
    changes: Readonly<Record<string, string>>,
    endings: Endings,
  ): Promise<void> {
    const { directory } = this.made;
    const { port } = new URL(this.url);
    const file = join(directory, 'nginx.conf');
    const upstreams = instances.map(({ url }, i): [string, string] => [
      `latchkey-${i + 1}:3000 resolve`, // nginx of Debian 12 has no `resolve`
      `127.0.0.1:${new URL(url).port}`,
    ]);
    const text = deployed('nginx-compose.conf', {
      ...Object.fromEntries(upstreams),
      'resolver 127.0.0.11 valid=2s ipv6=off;': '',
      'listen 8080;': `listen 127.0.0.1:${port};`,
      ' /tmp/': ` ${directory}/`,
      '/var/log/nginx/': `${directory}/`,
      ...changes,
    });
    writeFileSync(file, text);
    expect(complaints('nginx', ['-t', '-q', '-c', file])).toBe('');
    const args = ['-g', 'daemon off;', '-c', file];
    endings.after(await ProxyProcess.start('nginx', args, Number(port)), (one) => one.stop());
  }

  resets(): number {
    return resetsIn(readFileSync(join(this.made.directory, 'error.log'), 'utf8'));
  }
}

/** docker-compose.yml's own times, or a fraction of them: a stop then takes a second. */
const [SETTINGS, CHANGES] = isFull
  ? [{}, {}]
  : [{ SHUTDOWN_DELAY: '1' }, { 'keepalive_timeout 3s': 'keepalive_timeout 300ms' }];
const SUCCESSES = isFull ? 200 : 15;

needs({ nginx: isInstalled('nginx'), 'redis-server': hasRedis }).describe(
  'what docker-compose.yml describes',
  () => {
    const endings = new Endings();
    afterEach(() => endings.run());

    it.each(isFull ? [false, true] : [true])(
      'two instances start together on an empty database, and are replaced one after the other: nobody notices (Redis: %s)',
      async (redis) => {
        const stack = await ComposeStack.create(endings, redis);
        const start = async (name: string, changes = {}) => {
          const instance = await stack.instance(name, { ...SETTINGS, ...changes });
          return endings.after(instance, (one) => one.end('SIGKILL'));
        };
        const instances = await Promise.all(['latchkey-1', 'latchkey-2'].map((name) => start(name)));
        await stack.proxy(instances, CHANGES, endings);
        const ready = await fetch(`${stack.url}/health/ready`);
        expect([ready.status, await ready.json()]).toEqual([
          200,
          expect.objectContaining(redis ? { redis: 'up' } : { status: 'ok' }),
        ]);

        const stops = isFull ? 2 : 1;
        const load = endings.after(await FaultLoad.start([stack.url], isFull ? 8 : 2), (one) => one.close());
        await load.successes(SUCCESSES);
        for (const [i, instance] of instances.slice(0, stops).entries()) {
          expect(await instance.end('SIGTERM')).toBe(0);
          if (isFull) await start(`latchkey-${i + 1}`, { PORT: new URL(instance.url).port });
          await load.successes(SUCCESSES);
        }
        await load.finish(`docker-compose.yml: instances replaced${redis ? ', with Redis' : ''}`);
        expect(load.unexcused().slice(Math.min(stack.resets(), stops))).toEqual([]);
      },
    );
  },
);
