import { providerSettings } from '../../../test/support/stub-provider.js';
import { oneLine, refusalLine } from './log-line.js';

describe('a log line', () => {
  it.each<[string, unknown, string, string]>([
    ['the first line only', new Error('one\ntwo'), 's3cret', 'one'],
    ['no secret', new Error('a s3cret-1 b xs3cret-1x'), 's3cret-1', 'a *** b x***x'],
    ['a short secret as a word', new Error('b is no bible, "b" (b)'), 'b', '*** is no bible, "***" (***)'],
    ['a secret with symbols', new Error('was $1.* here'), '$1.*', 'was *** here'],
    ['no encoded secret', new Error('was a%20secret%20b'), 'a secret b', 'was ***'],
    ['no control characters', new Error('a\u0000b\u001fc\u007fd\u009fe\tf'), 's3cret', 'a b c d e f'],
    ['400 characters', new Error('x'.repeat(500)), 's3cret', 'x'.repeat(400)],
    ['no text', { message: 7 }, 's3cret', 'unknown error'],
    ['a code without a text', { message: '', code: 'ECONNREFUSED' }, 's3cret', 'ECONNREFUSED'],
    ['null', null, 's3cret', 'unknown error'],
  ])('has %s', (_name, error, clientSecret, line) => {
    expect(oneLine(error, providerSettings('acme', { clientSecret }))).toBe(line);
  });

  it('names the settings that the error names', () => {
    const call = { url: 'https://acme.example', settings: ['tenants'] };
    const error = Object.assign(new Error('refused'), { error: 'invalid_grant', call: call });
    expect(refusalLine(error, providerSettings('acme', { adapter: 'oidc' }))).toBe(
      'refused from https://acme.example; look at providers.acme.tenants',
    );
  });

  it.each<[string, boolean]>([
    ['a+b', false],
    ['a b', true],
  ])('of the code %j has the advice to percent-encode: %s', (code, expected) => {
    const error = { error: 'invalid_grant', message: 'refused' };
    const line = refusalLine(error, providerSettings('acme'), [code]);
    expect(line.includes('must percent-encode a + in codes (%2B)')).toBe(expected);
  });

  it('names the settings of a client with a key', () => {
    const error = Object.assign(new Error('refused'), { error: 'invalid_client' });
    const options = { pkce: 'off' };
    const keyed = { adapter: 'oidc', clientSecret: '', clientKey: 'a key', options };
    expect(refusalLine(error, providerSettings('acme', keyed))).toBe(
      'refused; look at providers.acme.client_id, providers.acme.client_key, providers.acme.client_assertion_audience',
    );
  });

  // LinkedIn answers a code_verifier with invalid_client.
  it.each<[string, string, Record<string, string>, boolean]>([
    ['invalid_client', 'oidc', {}, true],
    ['unauthorized_client', 'oauth2', {}, true],
    ['invalid_client', 'contract', { pkce: 'on' }, true],
    ['invalid_client', 'contract', {}, false],
    ['invalid_client', 'oidc', { pkce: 'off' }, false],
    ['invalid_client', '../own.mjs', {}, false],
    ['invalid_scope', 'oidc', {}, false],
  ])('of %s at %s with %j has the advice about pkce: %s', (error, adapter, options, expected) => {
    const line = refusalLine({ error, message: 'refused' }, providerSettings('acme', { adapter, options }));
    expect(
      line.endsWith('; a provider that refuses code_verifier needs pkce=off (providers.acme.pkce)'),
    ).toBe(expected);
  });

  it.each(['access_denied', 'interaction_required', 'temporarily_unavailable'])(
    'blames no setting for %s',
    (error) => {
      const call = { url: 'https://acme.example/token', status: 400, error };
      const line = refusalLine(
        Object.assign(new Error('refused'), { error, call: call }),
        providerSettings('acme'),
      );
      expect(line).toBe(`${error}, HTTP 400 from https://acme.example/token`);
    },
  );
});
