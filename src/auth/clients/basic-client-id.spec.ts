import { basicClientId } from './basic-client-id.js';

const basic = (text: string, scheme = 'Basic'): string => `${scheme} ${Buffer.from(text).toString('base64')}`;

describe('the client’s name for itself in Authorization: Basic', () => {
  it.each<[string, string | undefined, readonly string[] | undefined]>([
    ['no header', undefined, undefined],
    ['another scheme', 'Bearer abc', undefined],
    ['a scheme that only begins alike', basic('app:x', 'Basically'), undefined],
    ['a scheme that only ends alike', `x ${basic('app:x')}`, undefined],
    ['a name', basic('app:secret'), ['app', 'app']],
    ['the scheme in lower case', basic('app:', 'basic'), ['app', 'app']],
    ['no name', basic(':secret'), undefined],
    ['one that may be encoded', basic('my+app%2F+1:x'), ['my+app%2F+1', 'my app/ 1']],
    ['one with a stray %', basic('100%:x'), ['100%', '100%']],
    ['a colon in the secret', basic('app:a:b'), ['app', 'app']],
  ])('%s', (_name, header, names) => expect(basicClientId(header)).toEqual(names));

  it.each(['Basic', 'Basic ', 'Basic !', basic('no colon')])('refuses %j', (header) => {
    expect(() => basicClientId(header)).toThrow(
      expect.objectContaining({ message: 'invalid_request: the Authorization header is malformed' }) as Error,
    );
  });
});
