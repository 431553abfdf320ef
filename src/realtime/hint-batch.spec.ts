import { randomInt, randomUUID } from 'node:crypto';
import type { ChannelEvent } from '../events.js';
import { batchOf, pack, parcelOf, parseBatch } from './hint-batch.js';

const from = randomUUID();
const userId = randomUUID();
const event = (offset: number | null, data: unknown = { total: 7 }): ChannelEvent => ({
  id: randomUUID(),
  userId,
  deviceId: null,
  offset,
  event: 'order.paid',
  data,
  sentAt: '2026-01-02T03:04:05.678Z',
});
const LARGEST = 2048;
const ROOM = 7700;
const packed = (hints: readonly ChannelEvent[], room = ROOM): string[] =>
  pack(
    hints.map((hint) => parcelOf(hint, LARGEST)),
    room,
  );
const read = (texts: readonly string[]) => parseBatch(batchOf(from, texts));
const reach = (offset: number) => ({ userId, offset });

describe('many hints in one message', () => {
  it('are read as they were written', () => {
    const hints = [event(1), event(null, 'ü'), { ...event(2, null), deviceId: randomUUID() }, reach(3)];
    expect(
      read(
        pack(
          hints.map((hint) => parcelOf(hint, LARGEST)),
          ROOM,
        ),
      ),
    ).toEqual({
      from,
      hints,
      isDoubtful: false,
    });
  });

  it('a large event goes only as its place, unless it is not kept', () => {
    const large = 'ü'.repeat(LARGEST / 2);
    const unkept = event(null, large);
    expect(read(packed([event(1, large), unkept]))!.hints).toEqual([reach(1), unkept]);
  });

  it('where not all have room, the largest go as their places, and the order stays', () => {
    const hints = [900, 10, 800, 20, 700].map((length, i) => event(i + 1, 'x'.repeat(length)));
    const [one, two, three, four, five] = hints;
    expect(read(packed(hints, 2000))!.hints).toEqual([reach(1), two, reach(3), four, five]);
    expect(read(packed(hints, 2900))!.hints).toEqual([reach(1), two, three, four, five]);
    expect(read(packed(hints))!.hints).toEqual([one, two, three, four, five]);
  });

  it('as many as fit at all: the first ones, at least one, never more than there is room for', () => {
    for (let round = 0; round < 300; round++) {
      const hints = Array.from({ length: 1 + randomInt(400) }, (_, i) =>
        event(randomInt(5) ? i + 1 : null, 'ü€x'[randomInt(3)]!.repeat(randomInt(1300))),
      );
      const texts = packed(hints);
      expect(texts.length).toBeGreaterThan(0);
      expect(Buffer.byteLength(texts.join(','))).toBeLessThanOrEqual(ROOM);
      const told = read(texts)!.hints;
      expect(told.map(({ offset }) => offset)).toEqual(
        hints.slice(0, told.length).map(({ offset }) => offset),
      );
    }
    expect(packed(Array.from({ length: 1000 }, (_, i) => event(i + 1))).length).toBeGreaterThan(150);
  });

  it.each([
    '',
    'null',
    '[]',
    '{}',
    '{"from":',
    '['.repeat(7900),
    JSON.stringify({ from }),
    JSON.stringify({ from: 'x', hints: [] }),
    JSON.stringify({ from, hints: { length: 1 } }),
  ])('text that is no batch, case %#', (text) => {
    expect(parseBatch(text)).toBeUndefined();
  });

  it.each<[unknown]>([
    [null],
    [7],
    ['x'],
    [{}],
    [[]],
    [[userId]],
    [[userId, 0]],
    [[userId, null]],
    [['x', 1]],
    [[userId, 1, 2]],
    [{ userId, offset: 1, length: 2 }],
    [[userId, 1, randomUUID(), null, 'ready', 1, '2026-01-02T03:04:05.678Z']],
    [[userId, 1, randomUUID(), null, 'n', 1, 'now']],
    [[userId, 1, randomUUID(), null, 'n', 1, '2026-01-02T03:04:05.678Z', 1]],
  ])('what is no hint is left out, and raises doubt: case %#', (item) => {
    expect(parseBatch(JSON.stringify({ from, hints: [[userId, 1], item, [userId, 2]] }))).toEqual({
      from,
      hints: [reach(1), reach(2)],
      isDoubtful: true,
    });
  });
});
