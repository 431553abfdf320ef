import { encodePart, readHeader } from './key-ring.js';

describe('the header of an access token', () => {
  const ours = { alg: 'ES256', typ: 'at+jwt', kid: 'k'.repeat(43) };
  const parse = JSON.parse;
  let parsed = 0;
  beforeEach(() => {
    parsed = 0;
    JSON.parse = (text: string) => {
      parsed++;
      return parse(text) as unknown;
    };
  });
  afterEach(() => void (JSON.parse = parse));

  it('is read', () => {
    expect(readHeader(`${encodePart(ours)}.e30.x`)).toEqual({ kid: ours.kid });
    expect(parsed).toBe(1);
  });

  it.each<[string, object]>([
    ['many objects', { ...ours, x: Array.from({ length: 500 }, (_, i) => ({ [i]: i })) }],
    ['a long key id', { ...ours, kid: 'k'.repeat(10_000) }],
  ])('with %s is not parsed', (_name, header) => {
    expect(readHeader(`${encodePart(header)}.e30.x`)).toBeUndefined();
    expect(parsed).toBe(0);
  });
});
