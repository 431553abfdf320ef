import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createVerifier, type PushedEvent } from '../src/index.js';
import { FakeService, SERVICE_KEY } from './support/fake-service.js';
import { useEach } from '../../../test/support/use.js';

type Event = Record<'user_id' | 'event', string> & { readonly data: number };
interface Call {
  readonly path: string;
  readonly events: readonly Event[];
  readonly key: string | undefined;
  readonly answer: () => void;
  readonly response: ServerResponse;
}

const [ada, bob] = [randomUUID(), randomUUID()];
const event = (data: unknown, more: Partial<PushedEvent> = {}): PushedEvent => ({
  userId: ada,
  event: 'n',
  data,
  ...more,
});
/** The id of a pushed event says which it was. */
const resultOf = ({ user_id, data }: Event): object =>
  data < 0
    ? { error: data === -1 ? 'not_found' : 'invalid_request', error_description: 'x' }
    : { id: `${user_id} ${data}`, offset: data, online: true };

describe('pushes of one turn', () => {
  let calls: Call[];
  let answersLate: boolean;
  let maxEvents: number;

  const service = useEach(() => FakeService.start());
  beforeEach(() => {
    [calls, answersLate, maxEvents] = [[], false, Infinity];
  });
  const verifier = useEach(() =>
    createVerifier({ issuer: service.url, serviceKey: SERVICE_KEY, onWarning: () => undefined }),
  );
  beforeEach(() => {
    service.other = ({ url, headers }, response, body) => {
      const parsed = JSON.parse(body) as Event & { events: Event[] };
      const events = url === '/push' ? [parsed] : parsed.events;
      const answer = (): void => {
        if (events.length > maxEvents) response.writeHead(400).end('{"error":"invalid_request"}');
        else if (url !== '/push') response.end(JSON.stringify({ results: events.map(resultOf) }));
        else response.writeHead(events[0]!.data < 0 ? 404 : 202).end(JSON.stringify(resultOf(events[0]!)));
      };
      const key = headers['idempotency-key'] as string | undefined;
      calls.push({ path: url!, events, key, answer, response });
      if (!answersLate) answer();
    };
  });
  const push = (all: readonly PushedEvent[]): Promise<unknown[]> =>
    Promise.all(
      all.map((one) =>
        verifier.push(one).then(
          ({ id }) => id,
          ({ code, status }: { code: string; status: number }) => [code, status],
        ),
      ),
    );
  const sent = (): unknown[] =>
    calls.map(({ path, events }) => [
      path,
      ...events.map(({ user_id: id, data }) => [id === ada ? 'a' : 'b', data]),
    ]);
  /** Calls at the same time arrive in any order. */
  const sizes = (): unknown[] =>
    calls
      .toSorted((one, other) => other.events.length - one.events.length)
      .map(({ path, events }) => [path, events.length]);
  const called = async (count: number): Promise<void> => {
    while (calls.length < count) await new Promise((resolve) => setImmediate(resolve));
  };

  it('go together, 100 in a call, and each has its own result', async () => {
    const ids = Array.from({ length: 250 }, () => randomUUID());
    expect(await push(ids.map((userId, n) => event(n, { userId })))).toEqual(
      ids.map((id, n) => `${id} ${n}`),
    );
    expect(sizes()).toEqual([
      ['/push/batch', 100],
      ['/push/batch', 100],
      ['/push/batch', 50],
    ]);
  });

  it('an error of one is no error of the others', async () => {
    expect(await push([event(1), event(-1), event(-2, { userId: bob }), event(2)])).toEqual([
      `${ada} 1`,
      ['not_found', 404],
      ['invalid_request', 400],
      `${ada} 2`,
    ]);
    expect(calls).toHaveLength(1);
  });

  it('the next ones of a user wait for the answer, those of others do not', async () => {
    answersLate = true;
    const first = push([event(1), event(2)]);
    await called(1);
    const next = push([
      event(3),
      event(4, { userId: bob }),
      event(5),
      event(6, { userId: ada.toUpperCase() }),
    ]);
    await called(2);
    expect(sent()).toEqual([
      ['/push/batch', ['a', 1], ['a', 2]],
      ['/push', ['b', 4]],
    ]);
    calls[0]!.answer();
    await called(3);
    expect(calls[2]!.events.map(({ data }) => data)).toEqual([3, 5, 6]);
    calls.slice(1).forEach(({ answer }) => answer());
    await Promise.all([first, next]);
  });

  it('one with an idempotency key goes alone, with the key, in its place', async () => {
    const all = [event(1), event(2), event(3, { idempotencyKey: 'k' }), event(4), event(5, { userId: bob })];
    expect(await push(all)).toEqual([1, 2, 3, 4].map((n) => `${ada} ${n}`).concat(`${bob} 5`));
    expect(sent()).toEqual([
      ['/push/batch', ['a', 1], ['a', 2], ['b', 5]],
      ['/push', ['a', 3]],
      ['/push', ['a', 4]],
    ]);
    expect(calls.map(({ key }) => key)).toEqual([undefined, 'k', undefined]);
  });

  it('a call is smaller than 1 MiB, and what is larger than 64 KiB goes alone', async () => {
    const text = 'ü'.repeat(25_000);
    const users = Array.from({ length: 30 }, () => randomUUID());
    const large = { userId: bob, event: 'n', data: 'x'.repeat(70_000) };
    await push([...users.map((userId) => event(text, { userId })), large]);
    expect(sizes()).toEqual([
      ['/push/batch', 20],
      ['/push/batch', 10],
      ['/push', 1],
    ]);
  });

  it('if a batch is refused as a whole, each goes alone, in order', async () => {
    maxEvents = 1;
    expect(await push([event(1), event(-1), event(2)])).toEqual([`${ada} 1`, ['not_found', 404], `${ada} 2`]);
    expect(calls.map(({ path }) => path)).toEqual(['/push/batch', '/push', '/push', '/push']);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['a broken connection', (response) => response.destroy()],
    ['an error of the service', (response) => response.writeHead(500).end('{"error":"server_error"}')],
    ['too few results', (response) => response.end('{"results":[]}')],
    ['another answer', (response) => response.end('{}')],
  ])('%s is the error of each, and nothing is repeated', async (_name, fail) => {
    answersLate = true;
    const results = push([event(1), event(2, { userId: bob })]);
    await called(1);
    fail(calls[0]!.response);
    const failed = ['temporarily_unavailable', 503];
    expect(await results).toEqual([failed, failed]);
    answersLate = false;
    expect(await push([event(3)])).toEqual([`${ada} 3`]);
    expect(calls).toHaveLength(2);
  });

  it('10,000 wait at most', async () => {
    answersLate = true;
    const all = Array.from({ length: 10_001 }, (_, n) => verifier.push(event(n)));
    await expect(all.pop()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await called(1);
    expect(calls[0]!.events).toHaveLength(100);
    void Promise.allSettled(all);
  });
});
