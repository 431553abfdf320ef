import { ClientKey } from '../../../test/support/dpop.js';
import type { Settings } from '../../config/settings/settings.js';
import type { Clock } from '../../database/clock.js';
import { DpopProofs } from './dpop-proofs.js';

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
      expect(await proofs().judge({ header, path })).toEqual(found);
      const other = path === '/oauth2/token' ? '/oauth2/refresh' : '/oauth2/token';
      await expect(proofs().judge({ header, path: other })).rejects.toMatchObject({
        error: 'invalid_dpop_proof',
        description: 'the DPoP proof is for another method or address',
      });
    },
  );

  it('is none where there is no header', async () => {
    expect(await proofs().judge({ header: undefined, path: '/oauth2/token' })).toBeUndefined();
  });

  it('may name this machine otherwise while developing, and not in production', async () => {
    const local = { publicUrl: 'http://localhost:3000' };
    const call = { header: good('http://127.0.0.1:3000/oauth2/token'), path: '/oauth2/token' } as const;
    expect(await proofs({ ...local, production: false }).judge(call)).toMatchObject({ jkt: key.thumbprint });
    await expect(proofs({ ...local, production: true }).judge(call)).rejects.toThrow(
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
    await expect(proofs().judge({ header, path: '/oauth2/token' })).rejects.toMatchObject(refused);
  });
});
