import { freePort } from '../../test/support/free-port.js';
import type { RedisServer } from '../../test/support/redis-server.js';
import { spawnService, type ServiceChild } from '../../test/support/service-process.js';
import { TcpProxy } from '../../test/support/tcp-proxy.js';

export interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly databaseUrl: string;
  readonly redis: RedisServer | undefined;
}

const NOWHERE = 1;

export class Instance {
  private process: ServiceChild | undefined;
  /** What processes wrote that have ended. */
  private past = '';

  private constructor(
    readonly name: string,
    private readonly env: Readonly<Record<string, string>> & { readonly PORT: string },
    readonly clients: TcpProxy,
    readonly database: TcpProxy,
    readonly redis: TcpProxy | undefined,
  ) {}

  /** Not started yet. */
  static async in(name: string, { env, databaseUrl, redis }: Surroundings): Promise<Instance> {
    const port = await freePort();
    const clients = await TcpProxy.before(`http://127.0.0.1:${port}`);
    const database = await TcpProxy.before(databaseUrl);
    const redisProxy = redis && (await TcpProxy.before(redis.url));
    const url = new URL(databaseUrl);
    url.port = String(database.port);
    const own = {
      ...env,
      HOST: '127.0.0.1',
      PORT: String(port),
      DATABASE_URL: url.href,
      ...(redisProxy && { REDIS_URL: `redis://127.0.0.1:${redisProxy.port}` }),
    };
    return new Instance(name, own, clients, database, redisProxy);
  }

  get url(): string {
    return `http://127.0.0.1:${this.clients.port}`;
  }

  get pid(): number {
    return this.process!.child.pid!;
  }

  /** Resolves when it is ready. */
  async start(): Promise<void> {
    await this.spawn();
    await this.ready();
  }

  /** Resolves when it has a process, which has everything before it. */
  async spawn(): Promise<void> {
    this.past += this.process?.output() ?? '';
    this.process = undefined;
    this.process = await spawnService(this.env);
  }

  /** Resolves when its process has said that it is ready; then clients get to it. */
  async ready(): Promise<void> {
    await this.process!.says('Latchkey is ready');
    this.clients.retarget(Number(this.env.PORT));
  }

  async end(signal: NodeJS.Signals): Promise<number | null | undefined> {
    const code = await this.process?.end(signal);
    this.clients.retarget(NOWHERE); // until it is started again: another service may take its port
    return code;
  }

  freeze(): void {
    this.process!.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.process!.child.kill('SIGCONT');
  }

  /** What all its processes have written. */
  output(): string {
    return this.past + (this.process?.output() ?? '');
  }

  /** Kills it, and closes its proxies. */
  async close(): Promise<void> {
    await this.end('SIGKILL');
    await Promise.all([this.clients.refuse(), this.database.refuse(), this.redis?.refuse()]);
  }
}
