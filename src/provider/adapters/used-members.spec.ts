import { usedKeys, usedMetadata } from './used-members.js';

describe('the members that are used', () => {
  it('of a discovery document have the right type, or are left out', () => {
    const good = {
      issuer: 'https://id.example',
      token_endpoint: 'https://id.example/token',
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true,
    };
    for (const odd of [null, '', 7, {}, [], [7, null]]) {
      const document = {
        ...good,
        userinfo_endpoint: odd,
        end_session_endpoint: odd,
        token_endpoint_auth_methods_supported: odd,
        id_token_signing_alg_values_supported: odd,
        require_pushed_authorization_requests: odd,
        claims_supported: odd,
        mtls_endpoint_aliases: odd,
      };
      expect(usedMetadata(document)).toEqual(good);
    }
    expect(usedMetadata({ token_endpoint_auth_methods_supported: 'client_secret_post' })).toEqual({
      issuer: '',
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    });
    const mixed = { ...good, response_types_supported: [7, 'code', null] };
    expect(usedMetadata(mixed)).toEqual(good);
  });

  const EC = { kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ', kid: 'a' };

  it.each<[string, unknown, unknown[]]>([
    ['that is no list', { a: EC }, []],
    [
      'with keys of all types',
      [EC, { kty: 'RSA', n: 'bg', e: 'AQAB' }, { kty: 'OKP', crv: 'Ed25519', x: 'eA' }],
      [EC, { kty: 'RSA', n: 'bg', e: 'AQAB' }, { kty: 'OKP', crv: 'Ed25519', x: 'eA' }],
    ],
    ['with things that are no keys', [null, 7, 'x', [], {}, EC], [EC]],
    ['with other types of keys', [{ kty: 'oct', k: 'aw' }, { kty: 'AKP' }, { kty: ['EC'] }, EC], [EC]],
    [
      'with keys that lack a part',
      [{ ...EC, y: undefined }, { ...EC, x: 7 }, { ...EC, crv: '' }, { kty: 'RSA', n: 'bg' }, EC],
      [EC],
    ],
    ['with a key twice', [EC, { ...EC, x5c: ['x'] }], [EC]],
    ['with odd members beside the used ones', [{ ...EC, x5c: 7, x5t: null, d: 's3cret', exp: {} }], [EC]],
    [
      'with what a key is for',
      [{ ...EC, use: 'enc', alg: 'ES256', key_ops: ['verify'] }],
      [{ ...EC, use: 'enc', alg: 'ES256', key_ops: ['verify'] }],
    ],
  ])('of a key set %s', (_what, keys, used) => expect(usedKeys({ keys })).toEqual({ keys: used }));
});
