import type { ProviderSettings } from '../../../platform/config/providers/provider-settings.js';
import { metadataUrls, readTransmitter } from './transmitter.js';

const INNER = 'http://idp:8080/r';
const NAME = 'https://sso.example/r';
const KNOWN = '/.well-known/ssf-configuration';

const provider = (settings: Partial<ProviderSettings>) => ({ name: 'corp', ...settings }) as ProviderSettings;

describe('the metadata of a transmitter', () => {
  it.each<[string, Partial<ProviderSettings>, readonly string[]]>([
    ['without a path', { url: 'https://idp.example' }, [`https://idp.example${KNOWN}`]],
    ['with a path', { url: NAME }, [`https://sso.example${KNOWN}/r`, `${NAME}${KNOWN}`]],
    ['at an inner address', { url: INNER, issuer: NAME }, [`http://idp:8080${KNOWN}/r`, `${INNER}${KNOWN}`]],
    [
      'of signals_issuer, with a slash',
      { url: NAME, signals: { issuer: 'https://ssf.example/t/' } },
      [`https://ssf.example${KNOWN}/t`, `https://ssf.example/t${KNOWN}`],
    ],
  ])('is asked for %s', (_, settings, urls) => {
    expect(metadataUrls(provider(settings))).toEqual(urls);
  });

  const read = (settings: Partial<ProviderSettings>, document: unknown) => {
    const body = Buffer.from(JSON.stringify(document));
    return readTransmitter(provider(settings), { url: NAME, status: 200, contentType: undefined, body });
  };

  it('keeps what is usable, with addresses that the service can ask', () => {
    const document = {
      issuer: `${NAME}/`,
      jwks_uri: `${NAME}/jwks`,
      configuration_endpoint: 'https://other.example/streams',
      delivery_methods_supported: ['urn:ietf:rfc:8935', 1],
      critical_subject_members: 'tenant',
    };
    expect(read({ url: INNER, issuer: NAME }, document)).toMatchObject({
      issuer: `${NAME}/`,
      jwksUri: `${INNER}/jwks`,
      configurationEndpoint: 'https://other.example/streams',
      verificationEndpoint: undefined,
      deliveryMethods: ['urn:ietf:rfc:8935'],
      criticalSubjectMembers: [],
    });
  });

  it.each<[string, unknown, RegExp]>([
    ['another issuer', { issuer: 'https://evil.example' }, /names another issuer/],
    ['no issuer', {}, /names another issuer/],
    ['a list', [], /not an object/],
    [
      'plain http',
      { issuer: NAME, jwks_uri: 'http://sso.example/jwks' },
      /jwks_uri of the transmitter is not https/,
    ],
    ['no address', { issuer: NAME, status_endpoint: 7 }, /status_endpoint of the transmitter is not https/],
  ])('is refused with %s', (_, document, error) => {
    expect(() => read({ url: NAME }, document)).toThrow(error);
    expect(() => read({ url: INNER, issuer: NAME }, document)).toThrow(error);
  });
});
