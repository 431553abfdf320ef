import { randomBytes, randomUUID } from 'node:crypto';
import { decodeMessage, encodeMessage, partOf, type Notification } from './notification.js';

const key = randomBytes(32);
const from = randomUUID();
const userId = randomUUID();
const latest = { userId, offset: 7 };
const event = {
  id: randomUUID(),
  userId,
  deviceId: null,
  offset: null,
  event: 'order.paid',
  data: { total: 'ü\u0000✨' },
  sentAt: '2026-01-02T03:04:05.678Z',
};
const encoded = (...parts: string[]): string => encodeMessage(from, parts, key);

describe('a message between instances', () => {
  it.each<[string, Notification[]]>([
    ['nothing', []],
    ['the latest offset of a history', [latest]],
    ['an event that is not kept', [event]],
    ['an event for a device, without data', [{ ...event, deviceId: randomUUID(), data: null }]],
    ['several notifications', [latest, event, { ...latest, offset: 8 }]],
  ])('carries %s', (_name, notifications) => {
    expect(decodeMessage(encoded(...notifications.map(partOf)), key)).toEqual({
      from,
      notifications,
      isDoubtful: false,
    });
  });

  it('is rejected if its key is another, or one character of it is missing or changed', () => {
    const text = encoded(partOf(latest));
    expect(decodeMessage(text, randomBytes(32))).toBeUndefined();
    for (let i = 0; i < text.length; i++) {
      expect(decodeMessage(text.slice(0, i), key)).toBeUndefined();
      expect(decodeMessage(`${text.slice(0, i)}~${text.slice(i + 1)}`, key)).toBeUndefined();
    }
    const last = '{"signature":"'.length + 42; // encodes four bits: three other characters decode to the same bytes
    const others = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');
    for (const char of others.filter((one) => one !== text[last])) {
      expect(decodeMessage(`${text.slice(0, last)}${char}${text.slice(last + 1)}`, key)).toBeUndefined();
    }
  });

  it.each(['', 'x', 'null', '[]', '{}', '\0', '{"signature":"', `{"signature":"${'A'.repeat(43)}",}`])(
    'is rejected without a signature: %j',
    (text) => expect(decodeMessage(text, key)).toBeUndefined(),
  );

  const strange = [undefined, null, true, 0, -1, 1.5, 2 ** 53, '', 'x', [], {}];
  it.each<[string, unknown]>([
    ...strange.map((part): [string, unknown] => [`a part ${JSON.stringify(part)}`, part ?? null]),
    ...strange.map((one): [string, unknown] => [`offset ${JSON.stringify(one)}`, [userId, one]]),
    ...strange.map((one): [string, unknown] => [`user ${JSON.stringify(one)}`, [one, 1]]),
    ...['id', 'userId', 'event', 'sentAt'].flatMap((name) =>
      strange
        .filter((one) => name !== 'event' || typeof one !== 'string')
        .map((one): [string, unknown] => [`${name} ${JSON.stringify(one)}`, { ...event, [name]: one }]),
    ),
    ['no data', { ...event, data: undefined }],
    ['a device 7', { ...event, deviceId: 7 }],
  ])('of another version is doubtful; the rest counts: %s', (_name, part) => {
    expect(decodeMessage(encoded(JSON.stringify(part), partOf(latest)), key)).toEqual({
      from,
      notifications: [latest],
      isDoubtful: true,
    });
  });

  it('is rejected if it is too long, deep, or no object', () => {
    expect(decodeMessage(encoded(`"${'x'.repeat(1024 * 1024)}"`), key)).toBeUndefined();
    expect(decodeMessage(encoded('['.repeat(100_000)), key)).toBeUndefined();
    expect(decodeMessage(encodeMessage('x', [], key), key)).toBeUndefined();
  });
});
