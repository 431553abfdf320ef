import { randomBytes, randomUUID } from 'node:crypto';
import { decodeMessage, encodeMessage } from './notification.js';

const key = randomBytes(32);
const encode = (notification: object): string => encodeMessage('me', [JSON.stringify(notification)], key);

it('a message between instances is rejected if its signature is missing, of another key or of another text', () => {
  const text = encode({ userId: randomUUID(), offset: 7 });
  expect(decodeMessage(text, key)).toBeDefined();
  expect(decodeMessage(text, randomBytes(32))).toBeUndefined();
  for (let i = 0; i < text.length; i++)
    for (const other of ['', '~', 'é'])
      expect(decodeMessage(text.slice(0, i) + other + text.slice(i + 1), key)).toBeUndefined();
  for (const unsigned of ['', '\0', '{}', 'A'.repeat(43), `${'A'.repeat(43)}{"from":"x"}`])
    expect(decodeMessage(unsigned, key)).toBeUndefined();
});

it('a message that is too long is rejected', () => {
  expect(decodeMessage(encode({ data: 'x'.repeat(1024 * 1024) }), key)).toBeUndefined();
});
