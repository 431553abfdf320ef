import { randomBytes } from 'node:crypto';
import { expectNoSecret } from '../support/service-process.js';

const ENV = {
  SECRET_KEY: '5e'.repeat(32),
  'providers.table.client_secret': 'a client secret of the table',
  SERVICE_KEYS: 'push:the-key-that-may-only-push-of-32-ch',
  PROVIDERS_STUB_URL: 'http://127.0.0.1:1',
};
const base64url = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** This check runs at the end of each service that a test starts. */
describe('the log of a service', () => {
  it.each([
    ['an access token', `eyJ${base64url(60)}.eyJ${base64url(200)}.${base64url(64)}`],
    ['a refresh token', `lkr_${base64url(64)}`],
    ['a private key', '-----BEGIN PRIVATE KEY-----'],
    ['SECRET_KEY', ENV.SECRET_KEY],
    ['a client secret', ENV['providers.table.client_secret']],
    ['a service key', 'the-key-that-may-only-push-of-32-ch'],
  ])('must not have %s, which the error does not repeat', (_name, secret) => {
    const check = (): void =>
      expectNoSecret(`{"level":"debug"}\n{"message":"before ${secret} after"}\n`, ENV);
    expect(check).toThrow(/^the log of a service has a secret: /);
    expect(check).not.toThrow(secret);
  });

  it('may name a provider, a key id or the beginning of a token', () => {
    const line = '{"url":"http://127.0.0.1:1","kid":"ab","message":"lkr_ and eyJhbGciOi are beginnings"}';
    expectNoSecret(line, ENV);
  });
});
