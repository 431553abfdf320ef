import { judgeMetadata } from './judge-metadata.js';

const GOOD = {
  issuer: 'https://id.example',
  authorization_endpoint: 'https://id.example/authorize',
  token_endpoint: 'https://id.example/token',
  jwks_uri: 'https://id.example/keys',
};
const NAMED_11 = Array.from({ length: 11 }, (_, i) => `m${i}`);

function judge(
  changes: Record<string, unknown>,
  setting?: string,
  more: Record<string, string> = {},
): string[] {
  const options = { ...(setting !== undefined && { token_endpoint_auth_method: setting }), ...more };
  return judgeMetadata({ ...GOOD, ...changes }, options).map(
    ({ kind, message }) => `${kind} ${/\(([^()]*)\), which is not supported/.exec(message)![1]}`,
  );
}

describe('a discovery document', () => {
  it.each<[string, Record<string, unknown>]>([
    ['says little', {}],
    ['is of a provider without TLS', { issuer: 'http://id.test', token_endpoint: 'http://id.test/token' }],
    [
      'writes https in capitals',
      { token_endpoint: 'HTTPS://id.example/token', issuer: 'HTTPS://id.example' },
    ],
    [
      'has https in the path of its name only',
      { issuer: 'http://id.test/https:', jwks_uri: 'http://id.test/keys' },
    ],
    ['lists the code flow', { response_types_supported: ['id_token', 'code'] }],
    ['lists the grant', { grant_types_supported: ['implicit', 'authorization_code'] }],
    ['lists nothing in its lists', { response_types_supported: [], grant_types_supported: [] }],
    ['has lists of no texts', { grant_types_supported: [1, null], response_types_supported: 'token' }],
    ['takes secrets in the body', { token_endpoint_auth_methods_supported: ['client_secret_post', 'none'] }],
    ['takes secrets in the header', { token_endpoint_auth_methods_supported: ['client_secret_basic'] }],
    ['does not demand PAR', { require_pushed_authorization_requests: false }],
    ['says of PAR what is no boolean', { require_pushed_authorization_requests: 'true' }],
    ['does not demand JAR', { require_signed_request_object: false }],
    ['lists S256', { code_challenge_methods_supported: ['plain', 'S256'] }],
    ['signs with RS256', { id_token_signing_alg_values_supported: ['HS256', 'RS256'] }],
    ['signs with PS384', { id_token_signing_alg_values_supported: ['PS384'] }],
    ['signs with ES512', { id_token_signing_alg_values_supported: ['ES512'] }],
    ['signs with EdDSA', { id_token_signing_alg_values_supported: ['EdDSA'] }],
    ['signs with Ed25519', { id_token_signing_alg_values_supported: ['Ed25519'] }],
  ])('that %s is good', (_name, changes) => expect(judge(changes)).toEqual([]));

  it.each<[string, Record<string, unknown>, string[]]>([
    [
      'without addresses',
      { authorization_endpoint: undefined, token_endpoint: 7, jwks_uri: 'nowhere' },
      ['addresses authorization_endpoint, token_endpoint, jwks_uri'],
    ],
    ['with one address without TLS', { jwks_uri: 'http://id.example/keys' }, ['addresses jwks_uri']],
    [
      'with an address of another scheme',
      { issuer: 'http://id.test', jwks_uri: 'ftp://id.test/' },
      ['addresses jwks_uri'],
    ],
    [
      'with http inside of an address only',
      { issuer: 'http://id.test', jwks_uri: 'ftp://http://x/' },
      ['addresses jwks_uri'],
    ],
    ['with an address that is no text', { jwks_uri: ['https://id.example/keys'] }, ['addresses jwks_uri']],
    ['with an address that only begins like one', { jwks_uri: 'https://' }, ['addresses jwks_uri']],
    ['with https inside of an address only', { jwks_uri: 'ftp://https://x/' }, ['addresses jwks_uri']],
    [
      'without the code flow',
      { response_types_supported: ['id_token'] },
      ['codeFlow response_types_supported: id_token'],
    ],
    [
      'without the grant',
      { response_types_supported: ['code'], grant_types_supported: ['implicit'] },
      ['codeFlow grant_types_supported: implicit'],
    ],
    [
      'for public clients',
      { token_endpoint_auth_methods_supported: ['none'] },
      ['publicClients token_endpoint_auth_methods_supported: none'],
    ],
    [
      'for clients with keys',
      { token_endpoint_auth_methods_supported: ['none', 'private_key_jwt', 'tls_client_auth'] },
      ['clientKeys token_endpoint_auth_methods_supported: none, private_key_jwt, tls_client_auth'],
    ],
    [
      'that demands PAR',
      { require_pushed_authorization_requests: true },
      ['pushedRequests require_pushed_authorization_requests: true'],
    ],
    [
      'that demands JAR',
      { require_signed_request_object: true },
      ['requestObjects require_signed_request_object: true'],
    ],
    [
      'without S256',
      { code_challenge_methods_supported: ['plain'] },
      ['pkceMethod code_challenge_methods_supported: plain'],
    ],
    [
      'that signs with the secret',
      { id_token_signing_alg_values_supported: ['HS256', 'xRS256', 'RS2567', 'none'] },
      ['idTokenSignature id_token_signing_alg_values_supported: HS256, xRS256, RS2567, none'],
    ],
    [
      'whose values are no names',
      { code_challenge_methods_supported: ['<b>', 'a'.repeat(41), 'x\ny', '', '\u{1f600}'] },
      ['pkceMethod code_challenge_methods_supported: nothing known'],
    ],
    [
      'of which the longest names are told',
      { code_challenge_methods_supported: ['a'.repeat(40), 'one two-3 <', 'one two-3', '>one'] },
      [`pkceMethod code_challenge_methods_supported: ${'a'.repeat(40)}, one two-3`],
    ],
    [
      'of which ten values are told',
      { code_challenge_methods_supported: NAMED_11 },
      [`pkceMethod code_challenge_methods_supported: ${NAMED_11.slice(0, 10).join(', ')}`],
    ],
    [
      'with two faults',
      { require_signed_request_object: true, code_challenge_methods_supported: ['plain', 1] },
      [
        'requestObjects require_signed_request_object: true',
        'pkceMethod code_challenge_methods_supported: plain',
      ],
    ],
  ])('%s', (_name, changes, found) => expect(judge(changes)).toEqual(found));

  it('does not count for what the settings say', () => {
    expect(judge({ token_endpoint_auth_methods_supported: ['none'] }, 'client_secret_post')).toEqual([]);
    const plain = { code_challenge_methods_supported: ['plain'] };
    expect(judge(plain, undefined, { pkce: 'off' })).toEqual([]);
    expect(judge(plain, undefined, { pkce: 'on' })).toHaveLength(1);
  });
});
