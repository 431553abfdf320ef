import { hasRepeatedMember } from './repeated-members.js';

describe('hasRepeatedMember', () => {
  it.each([
    ['{"a":1,"a":2}'],
    ['{"a":1,"b":{"c":[1]},"a":2}'],
    ['{"a":1,"\\u0061":2}'],
    ['{ "a" : "}" , "a" : 2 }'],
    ['{"\\"":1,"\\u0022":2}'],
  ])('%s: yes', (json) => expect(hasRepeatedMember(json)).toBe(true));

  it.each([
    ['{}'],
    ['{"a":1,"b":2}'],
    ['{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}'],
    ['{"a":"\\"a\\":1","b":"{\\"a\\":"}'],
    ['{"a":"a","A":"a"}'],
    ['["a","a"]'],
    ['{"a":'],
    ['nonsense "'],
  ])('%s: no', (json) => expect(hasRepeatedMember(json)).toBe(false));
});
