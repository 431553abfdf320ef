import { ComposeStack } from '../support/compose-stack.js';
import { Endings } from '../support/endings.js';
import { FaultLoad } from '../support/fault-load.js';
import { isFull, reportFault } from '../support/faults.js';
import { isInstalled, needs } from '../support/installed.js';
import { hasRedis } from '../support/redis-server.js';

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

        const load = endings.after(await FaultLoad.start([stack.url], isFull ? 8 : 2), (one) => one.close());
        await load.successes(SUCCESSES);
        for (const [i, instance] of instances.slice(0, isFull ? 2 : 1).entries()) {
          expect(await instance.end('SIGTERM')).toBe(0);
          if (isFull) await start(`latchkey-${i + 1}`, { PORT: new URL(instance.url).port });
          await load.successes(SUCCESSES);
        }
        const row = await load.finish(`docker-compose.yml: instances replaced${redis ? ', with Redis' : ''}`);
        reportFault(row);
        expect(load.unexcused()).toEqual([]);
        expect(row).toMatchObject({ lost: 0, doubled: 0, disordered: 0 });
        expect(row.acknowledged).toBeGreaterThan(0);
      },
    );
  },
);
