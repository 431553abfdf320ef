import { ClientKey } from '../../../test/support/dpop.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import type { Clock } from '../../platform/database/clock.js';
import { DpopProofs, sameEndpoint } from './dpop-proofs.js';

const PUBLIC_URL = 'https://id.example';
const NOW = 1_800_000_000;
const key = new ClientKey();
const good = (address: string, iat = NOW): string => key.proof(address, { claims: { jti: 'one', iat } });

function proofs(settings: Partial<Settings> = {}): DpopProofs {
  const all = { publicUrl: PUBLIC_URL, production: true, ...settings } as Settings;
  return new DpopProofs({ now: () => NOW * 1000 } as Clock, all);
}

describe('a proof of possession, at a call', () => {
  it.each(['/oauth2/token', '/oauth2/refresh'] as const)(
    '%s shows its key there, and nowhere else',
    async (path) => {
      const found = { jkt: key.thumbprint, jti: 'one' };
      const header = good(PUBLIC_URL + path);
      expect(await proofs().validate({ header, path })).toEqual(found);
      const other = path === '/oauth2/token' ? '/oauth2/refresh' : '/oauth2/token';
      await expect(proofs().validate({ header, path: other })).rejects.toMatchObject({
        error: 'invalid_dpop_proof',
        description: 'the DPoP proof is for another method or address',
      });
    },
  );

  it('is none where there is no header', async () => {
    expect(await proofs().validate({ header: undefined, path: '/oauth2/token' })).toBeUndefined();
  });

  it('may name this machine otherwise while developing, and not in production', async () => {
    const local = { publicUrl: 'http://localhost:3000' };
    const call = { header: good('http://127.0.0.1:3000/oauth2/token'), path: '/oauth2/token' } as const;
    expect(await proofs({ ...local, production: false }).validate(call)).toMatchObject({
      jkt: key.thumbprint,
    });
    await expect(proofs({ ...local, production: true }).validate(call)).rejects.toThrow(
      'another method or address',
    );
  });

  it.each<[string, string, string]>([
    ['no proof', 'x', 'the DPoP header is not one proof with ES256 and a public P-256 key'],
    [
      'a proof with another signature',
      `${good(`${PUBLIC_URL}/oauth2/token`).split('.').slice(0, 2).join('.')}.${good(PUBLIC_URL).split('.')[2]}`,
      'the DPoP proof is not signed by the key in it',
    ],
    [
      'an old one',
      good(`${PUBLIC_URL}/oauth2/token`, NOW - 61),
      'the DPoP proof was not made within the last minute, by the clock of the Date header',
    ],
  ])('%s is refused', async (_name, header, description) => {
    const refused = { error: 'invalid_dpop_proof', description };
    await expect(proofs().validate({ header, path: '/oauth2/token' })).rejects.toMatchObject(refused);
  });
});

describe('the address that a proof is for (RFC 9449 §4.3, 9)', () => {
  const ofProduction = sameEndpoint('https://id.example/oauth2/token', { loopback: false });
  const ofMachine = sameEndpoint('http://localhost:3000/oauth2/token', { loopback: true });

  it.each([
    'https://id.example/oauth2/token',
    'https://id.example:443/oauth2/token',
    'HTTPS://ID.Example/oauth2/token',
    'https://id.example/oauth2/token?a=b#c',
  ])('%s', (address) => expect(ofProduction(address)).toBe(true));

  it.each([
    '',
    'x',
    'http://id.example/oauth2/token',
    'https://id.example/oauth2/token/',
    'https://id.example/oauth2/refresh',
    'https://id.example/oauth2/%74oken',
    'https://id.example:8443/oauth2/token',
    'https://id.example.evil.example/oauth2/token',
    'https://id.example@evil.example/oauth2/token',
    'https://user@id.example/oauth2/token',
    'https://localhost/oauth2/token',
  ])('not %s', (address) => expect(ofProduction(address)).toBe(false));

  it.each(['localhost', '127.0.0.1', '[::1]', '127.0.0.2'])('of this machine by the name %s', (name) => {
    expect(ofMachine(`http://${name}:3000/oauth2/token`)).toBe(true);
    expect(ofMachine(`http://${name}:3001/oauth2/token`)).toBe(false);
    expect(ofMachine(`https://${name}:3000/oauth2/token`)).toBe(false);
    expect(ofMachine(`http://${name}:3000/oauth2/refresh`)).toBe(false);
  });

  it('by no other name than its own in production, nor where it is not on this machine', () => {
    const strict = sameEndpoint('http://localhost:3000/oauth2/token', { loopback: false });
    expect(strict('http://127.0.0.1:3000/oauth2/token')).toBe(false);
    const elsewhere = sameEndpoint('https://id.example/oauth2/token', { loopback: true });
    expect(elsewhere('https://localhost/oauth2/token')).toBe(false);
  });
});
