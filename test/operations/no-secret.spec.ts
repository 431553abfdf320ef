import { randomBytes } from 'node:crypto';
import { expectNoSecret } from '../support/service-process.js';

const ENV = {
  SECRET_KEY: '5e'.repeat(32),
  PROVIDERS_STUB_CLIENT_SECRET: 'a client secret of the stub',
  'providers.table.client_secret': 'a client secret of the table',
  SERVICE_KEYS: 'the-key-that-has-all-rights-of-32-chars,push:the-key-that-may-only-push-of-32-ch',
  PROVIDERS_STUB_URL: 'http://127.0.0.1:1',
};
const base64url = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** Every service that a test starts is judged so at its end. */
describe('a log with a secret', () => {
  it.each([
    ['an access token', `eyJ${base64url(60)}.eyJ${base64url(200)}.${base64url(64)}`],
    ['a refresh token', `lkr_${base64url(64)}`],
    ['a private key', '-----BEGIN PRIVATE KEY-----'],
    ['SECRET_KEY', ENV.SECRET_KEY],
    ['a client secret', ENV.PROVIDERS_STUB_CLIENT_SECRET],
    ['a client secret of a setting with dots', ENV['providers.table.client_secret']],
    ['a service key', 'the-key-that-has-all-rights-of-32-chars'],
    ['a service key of one right', 'the-key-that-may-only-push-of-32-ch'],
  ])('is found, and not shown: %s', (_name, secret) => {
    let said = '';
    try {
      expectNoSecret(`{"level":"debug"}\n{"message":"before ${secret} after"}\n`, ENV);
    } catch (error) {
      said = (error as Error).message;
    }
    expect(said).toMatch(/^the log of a service has a secret: /);
    expect(said.includes(secret)).toBe(false);
  });

  it('is not one that names a provider, a key id or the beginning of a token', () => {
    expectNoSecret(
      '{"url":"http://127.0.0.1:1","kid":"ab","message":"lkr_ and eyJhbGciOi are beginnings"}',
      ENV,
    );
  });
});
