import { createHash } from 'node:crypto';
import { hashIfNamed, hashOfName } from './recent-ends.js';

describe('the hash of what a provider calls something', () => {
  it('is SHA-256 of a JSON array: that is what stands in the database', () => {
    expect(hashOfName('corp', 'session', 'ä')).toEqual(
      createHash('sha256').update('["corp","session","ä"]').digest(),
    );
  });

  it.each([
    [
      ['a', 'b","c'],
      ['a', 'b', 'c'],
    ],
    [['a'], ['a', '']],
  ])('differs for %j and %j', (one, other) => {
    expect(hashOfName(...(one as [string]))).not.toEqual(hashOfName(...(other as [string])));
  });

  it('is none where there is no name, which an empty one is', () => {
    expect(hashIfNamed('corp', null)).toBeNull();
    expect(hashIfNamed('corp', '')).toEqual(hashOfName('corp', ''));
    expect(hashIfNamed('corp', 'x')).toEqual(hashOfName('corp', 'x'));
  });
});
