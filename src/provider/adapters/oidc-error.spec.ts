import { ProviderRefusal } from '../transport/provider-answer.js';
import { withoutSecrets } from './oidc-error.js';
import { Unsupported, UnsupportedProvider } from './unsupported.js';

const coded = (code: unknown, message = ''): Error => Object.assign(new Error(message), { code });

describe('an error of openid-client, as it may be logged', () => {
  it('is the code of an answer with an error', () => {
    const refusal = new ProviderRefusal('access_denied', 'the provider answered');
    expect(withoutSecrets(new Error('something went wrong', { cause: refusal }))).toBe(refusal);
  });

  it('says what was asked, wherever that lies', () => {
    const asked = { url: 'https://id.example/token', status: 500 };
    const error = new Error('a', { cause: Object.assign(new Error('b'), { asked }) });
    expect(withoutSecrets(error)).toMatchObject({ message: 'a: b', asked });
  });

  it.each([
    new ProviderRefusal('invalid_grant', 'the callback names another issuer'),
    new UnsupportedProvider('acme', []),
  ])('is itself where it is ours: $name', (error) => expect(withoutSecrets(error)).toBe(error));

  it('is what is unsupported, wherever it lies', () => {
    const found = new Unsupported('idTokenEncryption', 'a JWE');
    const error = new Error('a', { cause: new Error('b', { cause: found }) });
    expect(withoutSecrets(error)).toBe(found);
  });

  it.each<[string, unknown, string]>([
    ['one text', new Error('unexpected response'), 'unexpected response'],
    [
      'those of its causes',
      new Error('a', { cause: new TypeError('b', { cause: new Error('c') }) }),
      'a: b: c',
    ],
    ['each text once', new Error('a', { cause: new Error('b', { cause: new Error('a') }) }), 'a: b'],
    ['not what a parser quotes', new Error('a', { cause: new SyntaxError('"s3cret" is no JSON') }), 'a'],
    ['not causes that are no errors', new Error('a', { cause: { body: 's3cret' } }), 'a'],
    ['the code of one without a text', new Error('a', { cause: coded('ECONNREFUSED') }), 'a: ECONNREFUSED'],
    ['its name, where the code is no text', coded(7), 'Error'],
    ['of no error', 's3cret', 'unknown error'],
    ['of a parser alone', new SyntaxError('s3cret'), 'unknown error'],
  ])('has the library’s fixed texts: %s', (_name, error, message) => {
    const told = withoutSecrets(error);
    expect(told.message).toBe(message);
    expect(told.cause).toBeUndefined();
  });

  it.each<[string, unknown, string | undefined]>([
    ['its own code', coded('ETIMEDOUT', 'x'), 'ETIMEDOUT'],
    ['that of a cause', new Error('a', { cause: coded('ECONNRESET') }), 'ECONNRESET'],
    ['the first of two', Object.assign(coded('EPIPE', 'a'), { cause: coded('ECONNRESET') }), 'EPIPE'],
    ['none that says something else', coded('CERT_HAS_EXPIRED', 'x'), undefined],
  ])('keeps why the provider is away: %s', (_name, error, code) => {
    const told = withoutSecrets(error);
    expect((told as { code?: string }).code).toBe(code);
    expect('code' in told).toBe(code !== undefined);
  });
});
