import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { InvalidValue } from '../settings/parsers.js';
import { SecretKey, secretKey } from './secret-key.js';

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
  ])('%s', (_, text, expected) =>
    expect(secretKey.parse(text).derive('x')).toEqual(new SecretKey(expected).derive('x')),
  );

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
  ])('refuses: %s', (_, text) => expect(() => secretKey.parse(text)).toThrow(InvalidValue));
});

describe('the key of a use', () => {
  const key = new SecretKey(Buffer.alloc(32, 0xab));

  // Stored and shared values are made with these keys: a change would lose every signing key.
  it.each([
    ['signing-keys', 'be15821857da283b2ab2b24c3bece8a3fbffa9a9af42e0f55a8883d8ab67dba1'],
    ['hints', '19fa1b33138f12843d0c276ae378fdac392c0695ac78e1fb931b811ee585cbde'],
  ])('%s is HKDF-SHA256 of it', (use, expected) => expect(key.derive(use).toString('hex')).toBe(expected));

  it('is another one for another key', () =>
    expect(new SecretKey(bytes32).derive('x')).not.toEqual(new SecretKey(bytes).derive('x')));
});

it('has no property that could be read, copied or printed', () => {
  const key = new SecretKey(Buffer.from('hunter2'.repeat(5)));
  expect(Reflect.ownKeys(key)).toEqual([]);
  expect(inspect({ key }, { showHidden: true, depth: null, getters: true })).toBe('{ key: SecretKey {} }');
  expect(JSON.stringify({ key })).toBe('{"key":{}}');
  expect(structuredClone({ key })).toStrictEqual({ key: {} });
});
