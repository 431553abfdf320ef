import { deriveUserId } from './user-id.js';

describe('deriveUserId', () => {
  it('is a UUID of version 8 that never changes: stored data depends on it', () => {
    expect(deriveUserId('mock', 'ada')).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(deriveUserId('mock', 'ada')).toBe('155bc610-55f9-8159-ad33-a388bffd92dc');
  });

  it('differs for any other provider or id, byte for byte', () => {
    const pairs = [
      ['mock', 'ada'],
      ['mock', 'Ada'],
      ['mock', 'ada '],
      ['moc', 'kada'],
      ['mocka', 'da'],
      ['mock', 'a\u0301'],
      ['mock', '\u00e1'],
    ];
    expect(new Set(pairs.map(([provider, id]) => deriveUserId(provider!, id!))).size).toBe(pairs.length);
  });
});
