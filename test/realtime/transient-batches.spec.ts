import { randomUUID } from 'node:crypto';
import { Endings } from '../support/endings.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
describe('batches of transient events', () => {
  const endings = new Endings();
  let service: TestService;
  beforeAll(async () => {
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    service = endings.after(
      await startTestService({ ...provider.env(), SERVICE_KEYS: SERVICE_KEY, DATABASE_POOL_SIZE: '40' }),
      (one) => one.close(),
    );
  });
  afterAll(() => endings.run());
  it('are answered', async () => {
    const batch = () =>
      bearer(service.url, SERVICE_KEY)
        .post('/push/batch', {
          events: [
            { user_ids: Array.from({ length: 1000 }, () => randomUUID()), event: 'n', data: 1, ttl: 0 },
          ],
        })
        .then((r) => r.status);
    const statuses = await Promise.all(Array.from({ length: 24 }, batch));
    const counts = new Map<number, number>();
    for (const s of statuses) counts.set(s, (counts.get(s) ?? 0) + 1);
    expect([...counts]).toEqual([[200, 24]]);
  });
});
