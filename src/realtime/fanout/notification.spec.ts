import { randomBytes, randomUUID } from 'node:crypto';
import { decodeMessage, encodeMessage } from './notification.js';

const key = randomBytes(32);
const from = randomUUID();
const latest = { userId: randomUUID(), offset: 7 };
const event = {
  id: randomUUID(),
  userId: randomUUID(),
  deviceId: null,
  offset: null,
  event: 'order.paid',
  data: { total: 'ü\u0000✨' },
  sentAt: '2026-01-02T03:04:05.678Z',
};
const encode = (...notifications: object[]): string =>
  encodeMessage(
    from,
    notifications.map((one) => JSON.stringify(one)),
    key,
  );

describe('a message between instances', () => {
  it.each([[[]], [[latest]], [[latest, event]]])('carries %j', (notifications) => {
    expect(decodeMessage(encode(...notifications), key)).toEqual({ from, notifications });
  });

  it('is rejected with another key, and if a character is missing or changed', () => {
    const text = encode(latest);
    expect(decodeMessage(text, randomBytes(32))).toBeUndefined();
    for (let i = 0; i < text.length; i++) {
      expect(decodeMessage(text.slice(0, i), key)).toBeUndefined();
      expect(decodeMessage(`${text.slice(0, i)}~${text.slice(i + 1)}`, key)).toBeUndefined();
      expect(decodeMessage(`${text.slice(0, i)}é${text.slice(i + 1)}`, key)).toBeUndefined();
    }
  });

  it('is rejected without a signature, and if it is too long', () => {
    for (const text of ['', '\0', '{}', 'A'.repeat(43), `${'A'.repeat(43)}{"from":"x"}`])
      expect(decodeMessage(text, key)).toBeUndefined();
    expect(decodeMessage(encode({ data: 'x'.repeat(1024 * 1024) }), key)).toBeUndefined();
  });
});
