import { createHash } from 'node:crypto';
import { hashOfState, STATE } from './state.service.js';

const A_STATE = '0123456789abcdefABCDEF'.padEnd(64, '5e');

describe('a state', () => {
  // Contract §3: 64 hex.
  it.each<[string, string, boolean]>([
    ['64 hex digits', A_STATE, true],
    ['one digit more', `${A_STATE}0`, false],
    ['one digit less', A_STATE.slice(1), false],
    ['something before', ` ${A_STATE}`, false],
    ['something behind', `${A_STATE}\n`, false],
    ['another letter', `g${A_STATE.slice(1)}`, false],
    ['nothing', '', false],
  ])('is well-formed, or not: %s', (_what, text, isOne) => {
    expect(STATE.test(text)).toBe(isOne);
    // As it is stored, also by instances of another release.
    expect(hashOfState(text)).toEqual(createHash('sha256').update(text).digest());
  });
});
