import { randomBytes } from 'node:crypto';
import { deriveKey } from './derive-key.js';
import { Refused } from './kinds.js';
import { secretKey } from './secret-key.js';

const bytes = Buffer.from('fb'.repeat(33), 'hex'); // has + and / in base64, no padding
const bytes32 = bytes.subarray(0, 32); // has padding

describe('SECRET_KEY', () => {
  it.each([
    ['hex', bytes32.toString('hex'), bytes32],
    ['hex in capitals', bytes32.toString('hex').toUpperCase(), bytes32],
    ['base64', bytes.toString('base64'), bytes],
    ['base64 with padding', bytes32.toString('base64'), bytes32],
    ['base64 without its padding', bytes32.toString('base64').replace(/=/g, ''), bytes32],
    ['base64url', bytes32.toString('base64url'), bytes32],
    [
      'hex digits, but an odd number: base64',
      `${'a'.repeat(42)}0`,
      Buffer.from(`${'a'.repeat(42)}0`, 'base64'),
    ],
  ])('%s', (_, text, expected) => expect(secretKey.parse(text)).toEqual(expected));

  it.each([
    ['too short in hex', 'ab'.repeat(31)],
    ['all hex and even, so 22 bytes, whatever base64 would say', 'ab'.repeat(22)],
    ['too short in base64', randomBytes(31).toString('base64')],
    ['a phrase', 'correct horse battery staple correct horse battery staple'],
    [
      'a slip of the hand',
      `${bytes32.toString('base64').slice(0, 20)}!${bytes32.toString('base64').slice(20)}`,
    ],
    ['both alphabets', `+_${'A'.repeat(42)}`],
    ['loose bits at the end', `${'A'.repeat(42)}B`],
    ['wrong padding', `${bytes.toString('base64')}=`],
    ['empty', ''],
  ])('refuses: %s', (_, text) => expect(() => secretKey.parse(text)).toThrow(Refused));
});

it('derives a key for each use (HKDF-SHA256)', () => {
  expect(deriveKey(bytes32, 'a')).toHaveLength(32);
  expect(deriveKey(bytes32, 'a')).toEqual(deriveKey(Buffer.from(bytes32), 'a'));
  expect(deriveKey(bytes32, 'a')).not.toEqual(deriveKey(bytes32, 'b'));
  expect(deriveKey(bytes32, 'a')).not.toEqual(deriveKey(bytes, 'a'));
});
