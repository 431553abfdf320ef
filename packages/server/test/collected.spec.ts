import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../../../test/support/waiting.js';
import { createVerifier } from '../src/index.js';
import { FakeService, SERVICE_KEY } from './support/fake-service.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** `fetch` of Node.js 20 may forget the signal of a request at a garbage collection. */
describe('after a garbage collection', () => {
  let service: FakeService;
  beforeEach(async () => void (service = await FakeService.start()));
  afterEach(() => service.close());

  async function collectAll(): Promise<void> {
    for (let i = 0; i < 5; i++) {
      collect();
      await delay(10);
    }
  }

  it('close() ends the feed, which would keep the process alive', async () => {
    const verifier = createVerifier({ issuer: service.url, serviceKey: SERVICE_KEY });
    await until(() => verifier.isNotified, 'the feed is complete');
    await collectAll();
    verifier.close();
    await until(() => service.streams.size === 0, 'the stream has ended');
  });

  it('a silent feed is replaced', async () => {
    const verifier = createVerifier({
      issuer: service.url,
      serviceKey: SERVICE_KEY,
      onWarning: () => undefined,
    });
    await until(() => verifier.isNotified, 'the feed is complete');
    await collectAll();
    const [first] = service.streams;
    service.talks = false;
    await until(() => !service.streams.has(first!), 'the silent stream has ended');
    verifier.close();
  });
});
