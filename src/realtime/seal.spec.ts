import { randomBytes } from 'node:crypto';
import { seal, unseal } from './seal.js';

const key = randomBytes(32);

describe('the seal of what instances tell each other', () => {
  it.each(['{"a":1}', '{"a":"ü\\u0000✨"}', `{"a":"${'x'.repeat(100_000)}"}`])(
    'opens what it has closed',
    (json) => {
      const sealed = seal(json, key);
      expect(unseal(sealed, key)).toBe(json);
      expect(JSON.parse(sealed)).toMatchObject(JSON.parse(json) as object); // older instances read it as it is
    },
  );

  it('of another key, of another text, cut or missing: nothing is returned', () => {
    const sealed = seal('{"offset":7}', key);
    expect(unseal(sealed, randomBytes(32))).toBeUndefined();
    for (let i = 0; i < sealed.length; i++) {
      expect(unseal(sealed.slice(0, i), key)).toBeUndefined();
      expect(unseal(`${sealed.slice(0, i)}~${sealed.slice(i + 1)}`, key)).toBeUndefined();
    }
    const last = '{"seal":"'.length + 42;
    const others = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');
    for (const char of others.filter((one) => one !== sealed[last])) {
      expect(unseal(`${sealed.slice(0, last)}${char}${sealed.slice(last + 1)}`, key)).toBeUndefined();
    }
    for (const text of [
      '',
      '{}',
      '{"offset":7}',
      '{"seal":"",}',
      `{"seal":"${'A'.repeat(43)}",`,
      `${sealed} `,
    ]) {
      expect(unseal(text, key)).toBeUndefined();
    }
  });
});
