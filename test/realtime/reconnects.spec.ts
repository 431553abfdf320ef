import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Sql } from '../../src/database/statements/sql.js';
import { RealtimeService } from '../../src/realtime/push/realtime.service.js';
import { bearer } from '../support/bearer.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';

const USERS = 30;
/** What each statement takes, so that others come in meanwhile. */
const SLOW_MS = 100;

describe('sockets that come back together', () => {
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService(provider.env());
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  it('share statements, and each has its own verdict and its own history', async () => {
    const users: Tokens[] = [];
    for (let i = 0; i < USERS; i++) users.push(await signIn(service.url, randomUUID()));
    const realtime = service.app.get(RealtimeService);
    await Promise.all(
      users.map(async ({ user_id }, i) => {
        for (let n = 0; n < i % 4; n++) await realtime.push(user_id, 'news', { n });
      }),
    );
    const ended = users[7]!;
    await bearer(service.url, ended.access_token).post('/sign-out', {}).expect(204);
    const sql = service.app.get(Sql);
    const query = sql.query.bind(sql);
    const asked = jest.spyOn(sql, 'query').mockImplementation(async (statement, values) => {
      await delay(SLOW_MS);
      return query(statement, values);
    });
    const clients = users.map(({ access_token: token }, i) => {
      const auth = i === 9 ? { token: `${token}x` } : { token, ...(i % 2 && { offset: 1 }) };
      return SocketClient.open(service.url, auth);
    });
    try {
      const results = await Promise.all(
        clients.map((client) => client.ready().catch((error: Error & { data?: object }) => error.data)),
      );
      for (const [i, result] of results.entries()) {
        const [last, offset] = [i % 4, i % 2];
        const expected =
          i === 7 || i === 9
            ? { error: 'invalid_token' }
            : {
                user_id: users[i]!.user_id,
                offset: offset === 0 ? last : offset,
                recovered: true,
              };
        expect([i, result]).toEqual([i, expect.objectContaining(expected)]);
        if (i % 4 === 3 && i !== 7) expect((await clients[i]!.next('news')).meta!.offset).toBe(2);
      }
      const names = asked.mock.calls.map(([{ name }]) => name);
      const count = (pattern: RegExp) => names.filter((name) => pattern.test(name)).length;
      expect(count(/^access-token/)).toBeLessThan(USERS / 2);
      expect(count(/^channel-state/)).toBeLessThan(USERS / 2);
    } finally {
      clients.forEach((client) => client.close());
      asked.mockRestore();
    }
  });
});
