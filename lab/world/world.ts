import { Endings } from '../../test/support/endings.js';
import { RedisServer } from '../../test/support/redis-server.js';
import { ReplicatedPostgres } from '../../test/support/standby.js';
import { StubProvider } from '../../test/support/stub-provider.js';
import { TcpProxy } from '../../test/support/tcp-proxy.js';
import { whole } from './health.js';
import { Instance } from './instance.js';

/** `PUBLIC_URL` */
export const ISSUER = 'http://latchkey.test';
const INSTANCES = 3;
const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
/** How long it is waited for: on a busy machine a new standby is a long time coming. */
const WAITED_MS = 30_000;

export interface WorldOptions {
  readonly redis: boolean;
  /** Further settings of the service. */
  readonly env?: Readonly<Record<string, string>>;
  /** How many instances; three, unless it is given. */
  readonly instances?: number;
}

/**
 * Three instances of the service as processes, a PostgreSQL with a synchronous standby, Redis or none, and a TCP proxy on
 * every way: from the clients to each instance, and from each instance to its database and its Redis.
 */
export class World {
  readonly serviceKey = SERVICE_KEY;

  private constructor(
    private readonly endings: Endings,
    readonly provider: StubProvider,
    readonly postgres: ReplicatedPostgres,
    readonly redis: RedisServer | undefined,
    readonly instances: readonly Instance[],
    /** Before the second instance, for a verifier that loses the session feed. */
    readonly feed: TcpProxy,
  ) {}

  static async start(options: WorldOptions): Promise<World> {
    const { redis: wantsRedis, env = {}, instances = INSTANCES } = options;
    const endings = new Endings();
    try {
      const provider = endings.after(await StubProvider.start(), (one) => one.close());
      const postgres = endings.after(await ReplicatedPostgres.start(), (both) => both.stop());
      const redis = wantsRedis ? endings.after(await RedisServer.start(), (one) => one.kill()) : undefined;
      const surroundings = {
        env: {
          ...provider.env(),
          ...provider.env('HUB'),
          PROVIDERS_STUB_LINKS: 'hub',
          PUBLIC_URL: ISSUER,
          SERVICE_KEYS: SERVICE_KEY,
          ...env,
        },
        databaseUrl: postgres.primary.url,
        redis,
      };
      const all: Instance[] = [];
      for (let place = 0; place < instances; place++) {
        const instance = await Instance.in(`instance ${place + 1}`, surroundings);
        all.push(endings.after(instance, (one) => one.close()));
      }
      const feed = endings.after(await TcpProxy.before(all[1]!.url), (one) => one.refuse());
      const world = new World(endings, provider, postgres, redis, all, feed);
      await Promise.all(all.map((instance) => instance.start()));
      await world.healthy();
      return world;
    } catch (error) {
      await endings.run();
      throw error;
    }
  }

  get urls(): readonly string[] {
    return this.instances.map(({ url }) => url);
  }

  /** Of the primary that there is now; as superuser. */
  databaseUrl(): string {
    return this.postgres.primary.adminUrl;
  }

  /**
   * Every instance writes, is ready, and hears the hints of the others.
   * @throws Error that names what did not come back in time
   */
  async healthy(): Promise<void> {
    const hasRedis = this.redis !== undefined;
    await Promise.all(this.instances.map(({ name, url }) => whole(name, url, hasRedis, WAITED_MS)));
  }

  /** Leaves no process, and no directory. */
  async stop(): Promise<void> {
    await this.endings.run();
  }
}
