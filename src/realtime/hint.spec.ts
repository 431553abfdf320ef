import { randomInt, randomUUID } from 'node:crypto';
import { LONGEST_HINT, parseHint } from './hint.js';

const from = randomUUID();
const userId = randomUUID();
const reach = { from, userId, offset: 7 };
const event = {
  ...reach,
  id: randomUUID(),
  deviceId: null,
  event: 'order.paid',
  data: { total: 7 },
  sentAt: '2026-01-02T03:04:05.678Z',
};
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('what another instance has said', () => {
  it.each<[string, object]>([
    ['how far a history reaches', reach],
    ['an event', event],
    ['an event that is not kept', { ...event, offset: null }],
    ['an event for a device', { ...event, deviceId: randomUUID() }],
    ['an event of the service itself', { ...event, event: 'device.signed_out' }],
    ['an event that carries nothing', { ...event, data: null }],
    ['an event as deep as may be', { ...event, data: nested(100) }],
  ])('%s is understood', (_name, hint) => {
    expect(parseHint(JSON.stringify(hint))).toEqual(hint);
  });

  it('unknown members are dropped', () => {
    const text = JSON.stringify({ ...event, more: 1, __proto: {} }).replace('__proto', '__proto__');
    expect(parseHint(text)).toEqual(event);
    expect(parseHint(JSON.stringify({ ...reach, event: 'ready', data: 1 }))).toEqual(reach);
  });

  const strange = [undefined, null, true, 0, -1, 1.5, 2 ** 53, '', 'x', '7', [], {}, [7], { length: 36 }];
  const wrong: Record<string, readonly unknown[]> = {
    from: strange,
    userId: strange,
    offset: strange.filter((value) => value !== null),
    id: strange.filter((value) => value !== undefined), // without an id it is not an event
    deviceId: strange.filter((value) => value !== null),
    event: [
      ...strange.filter((value) => value !== 'x' && value !== '7'),
      ...'ready session.ended token.expiring authenticate connect disconnect newListener error device.'.split(
        ' ',
      ),
      'device.signed-in',
      'x'.repeat(129),
      'a b',
      'a\n',
    ],
    data: [undefined, nested(101), nested(1000), { a: nested(100) }],
    sentAt: [
      ...strange,
      '2026-01-02',
      '2026-01-02T03:04:05.678+00:00',
      `${event.sentAt} `,
      '2026-13-01T00:00:00.000Z',
    ],
  };
  it.each(Object.entries(wrong).flatMap(([name, values]) => values.map((value) => [name, value] as const)))(
    '%s is not what it should be, case %#: no hint',
    (name, value) => {
      expect(parseHint(JSON.stringify({ ...event, [name]: value }))).toBeUndefined();
    },
  );
  it.each(['from', 'userId', 'offset'])('nor is it one without %s', (name) => {
    expect(parseHint(JSON.stringify({ ...reach, [name]: undefined }))).toBeUndefined();
    expect(parseHint(JSON.stringify({ ...event, [name]: undefined }))).toBeUndefined();
  });

  it.each([
    '',
    'nonsense',
    'null',
    '1',
    '"x"',
    '[]',
    '{}',
    '{"from":',
    '\0',
    '\uD800',
    '['.repeat(100_000),
    '['.repeat(100_000) + ']'.repeat(100_000),
    `{"a":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_001)}`,
    JSON.stringify({ ...event, data: 'x'.repeat(LONGEST_HINT) }),
  ])('text that is not a hint, case %#', (text) => {
    expect(parseHint(text)).toBeUndefined();
  });

  it('random JSON never throws, and accepted hints have the declared types', () => {
    const values = [...strange, ...Object.values(event), ...Object.values(wrong).flat(), nested(3)];
    const any = (): unknown => values[randomInt(values.length)];
    let passed = 0;
    for (let round = 0; round < 20_000; round++) {
      const hint: Record<string, unknown> = { ...event };
      for (const name of Object.keys(event)) {
        if (randomInt(8) === 0) hint[name] = any();
        if (randomInt(40) === 0) delete hint[name];
      }
      const text = JSON.stringify(hint);
      const cut = randomInt(20) === 0 ? text.slice(randomInt(text.length)) : text;
      const parsed = parseHint(cut) as Partial<typeof event> | undefined;
      if (!parsed) continue;
      passed++;
      expect([typeof parsed.from, typeof parsed.userId]).toEqual(['string', 'string']);
      if (!('id' in parsed)) expect(Number.isSafeInteger(parsed.offset)).toBe(true);
      else {
        expect(parsed.offset === null || parsed.offset! > 0).toBe(true);
        expect(parsed.event).toMatch(/^[\w.:-]{1,128}$/);
        expect(new Date(parsed.sentAt!).toISOString()).toBe(parsed.sentAt);
      }
    }
    expect(passed).toBeGreaterThan(100);
  });
});
