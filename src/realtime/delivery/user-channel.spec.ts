import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { ChannelEvent } from '../../platform/events.js';
import type { ChannelHistory } from '../../channel/channel.history.js';
import type { Connection } from '../socket/connection.js';
import { UserChannel } from './user-channel.js';

const away = Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
const event = (offset: number): ChannelEvent => ({
  id: `e${offset}`,
  userId: 'ada',
  deviceId: null,
  offset,
  event: 'n',
  data: offset,
  sentAt: '',
});

/** Errors while a history is read: no caller waits for it, so it must recover alone. */
describe('a channel whose history cannot be read', () => {
  let answers: (Error | ChannelEvent[])[];
  let ends: (Error | { last: number })[];
  let delivered: (number | null)[];
  let connection: Connection;
  let endings: string[];
  let channel: UserChannel;

  beforeAll(() => Logger.overrideLogger(false)); // errors are expected here
  beforeEach(() => {
    [answers, ends, delivered, endings] = [[], [], [], []];
    const answer = async <Item>(from: (Error | Item)[]): Promise<Item> => {
      const next = from.shift() ?? new Error('a question too many');
      if (next instanceof Error) throw next;
      return next;
    };
    const history = {
      read: () => answer(answers),
      state: () => answer(ends),
    } as unknown as ChannelHistory;
    const deliver = ({ offset }: ChannelEvent, to: readonly unknown[]) =>
      void (to.length > 0 && delivered.push(offset));
    channel = new UserChannel('ada', history, Promise.resolve(), deliver);
    connection = another();
    channel.connections.add(connection);
  });

  function another(): Connection {
    const one = {
      isOpen: true,
      isFull: false,
      reading: false,
      position: 0,
      end(reason: string) {
        endings.push(reason);
        Object.assign(one, { isOpen: false });
      },
    };
    return one as unknown as Connection;
  }

  /** Waits until nothing is being read; every answer has been requested then. */
  async function settle(): Promise<void> {
    while (connection.reading) await delay(10);
    expect([answers, ends]).toEqual([[], []]);
  }

  it('goes on once the database is back', async () => {
    answers = [away, [event(1), event(2)]];
    channel.reachesTo(2);
    await settle();
    expect([delivered, endings, connection.position]).toEqual([[1, 2], [], 2]);
  });

  it('tells the client to come back when it will never be read', async () => {
    answers = [new TypeError('of our own')];
    channel.reachesTo(2);
    await settle();
    expect([delivered, endings]).toEqual([[], ['overloaded']]);
  });

  it('delivers what arrives while it reads in order, and nothing twice', async () => {
    answers = [away, [event(1)], [event(2), event(3)]];
    channel.reachesTo(1);
    channel.receive(event(2));
    channel.receive(event(3));
    await settle();
    expect([delivered, endings, connection.position]).toEqual([[1, 2, 3], [], 3]);
    channel.receive(event(4));
    expect(delivered).toEqual([1, 2, 3, 4]);
  });

  it('reads once for all connections at one position; a slow one continues alone', async () => {
    const slow = Object.assign(another(), { isFull: true, drained: async () => undefined });
    channel.connections.add(slow);
    channel.connections.add(another());
    answers = [
      [event(1), event(2)],
      [event(1), event(2)],
    ]; // the second reading is of the slow one
    channel.reachesTo(2);
    await settle();
    await delay(10);
    expect([...channel.connections].map(({ position }) => position)).toEqual([2, 2, 2]);
    expect(answers).toEqual([]);
  });

  it('jumps over events that have expired', async () => {
    [answers, ends] = [
      [[event(1)], []],
      [away, { last: 3 }],
    ];
    channel.reachesTo(3);
    await settle();
    channel.receive(event(4));
    expect([delivered, endings, connection.position]).toEqual([[1, 4], [], 4]);
  });

  it('goes on in a history that has begun anew, whatever sockets and notifications of the old one say', async () => {
    const old = { isOpen: true, isFull: false, reading: false, position: 500 }; // it is about to be closed
    channel.connections.add(old as unknown as Connection);
    [answers, ends] = [[[event(1)], [event(2)], []], [{ last: 2 }]];
    channel.reachesTo(500); // a late notification
    channel.receive(event(2)); // after the reading, and before it asks where the history ends
    await settle();
    channel.receive(event(3));
    expect([delivered, endings, connection.position]).toEqual([[1, 2, 3], [], 3]);
  });
});

/** The second instance on which a client is may hear of it later than the first one, from which it came. */
it.each([
  ['sent while it was there', 0, [null]],
  ['sent before it came: it may have had it elsewhere', -1, []],
  ['sent so long before that the clock must have been set back', -60_000, [null]],
])('a transient event, %s', (_, after, expected) => {
  const delivered: (number | null)[] = [];
  const deliver = ({ offset }: ChannelEvent, to: readonly unknown[]) =>
    void (to.length > 0 && delivered.push(offset));
  const since = Date.parse('2026-01-01T12:00:00.000Z');
  const channel = new UserChannel('ada', {} as ChannelHistory, Promise.resolve(), deliver);
  channel.connections.add({ isOpen: true, isFull: false, position: 0, since } as unknown as Connection);
  channel.receive({ ...event(0), offset: null, sentAt: new Date(since + after).toISOString() });
  expect(delivered).toEqual(expected);
});
