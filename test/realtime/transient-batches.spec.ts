import { randomUUID } from 'node:crypto';
import { SERVICE_KEY } from '../support/service.js';
import { bearer } from '../support/sign-in.js';
import { useService } from '../support/use.js';

describe('batches of transient events', () => {
  const { service } = useService({ SERVICE_KEYS: SERVICE_KEY, DATABASE_POOL_SIZE: '40' });
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
