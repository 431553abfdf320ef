import { SecretKey } from '../../platform/config/secrets/secret-key.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import type { Clock } from '../../platform/database/clock.js';
import { CsrfTokens } from './csrf-token.js';

const request = { client_id: 'latchkey', redirect_uri: 'https://app.example/cb', state: 'abc' };
const TEN_MINUTES = 600_000;

function tokens(clock: { ms: number }, key = 'a'): CsrfTokens {
  const settings = { secretKey: new SecretKey(Buffer.alloc(32, key)) } as Settings;
  return new CsrfTokens(settings, { now: () => clock.ms } as Clock);
}

describe('CSRF tokens', () => {
  it('are good for ten minutes, on every instance with the same key', () => {
    const clock = { ms: 1_700_000_000_000 };
    const token = tokens(clock).make(request);
    clock.ms += TEN_MINUTES;
    expect(tokens(clock).isValid(token, request)).toBe(true);
    clock.ms += 1;
    expect(tokens(clock).isValid(token, request)).toBe(false);
  });

  it.each([
    { client_id: 'other' },
    { redirect_uri: 'https://app.example/other' },
    { state: 'abd' },
    { code_challenge: 'x'.repeat(43) },
    { redirect_uri: 'https://app.example/cb","', state: 'bc' },
  ])('are bound to the request: %j', (change) => {
    const made = tokens({ ms: 0 });
    expect(made.isValid(made.make(request), { ...request, ...change })).toBe(false);
  });

  it('are bound to their time and to the key', () => {
    const clock = { ms: 1000 };
    const token = tokens(clock).make(request);
    expect(tokens(clock).isValid(token.replace('1000.', '1001.'), request)).toBe(false);
    expect(tokens(clock, 'b').isValid(token, request)).toBe(false);
  });

  it.each(['', '.', 'a', '1000.', `-1.${'A'.repeat(43)}`, `1000.${'A'.repeat(42)}`, `1e3.${'A'.repeat(43)}`])(
    'are not %j',
    (token) => expect(tokens({ ms: 0 }).isValid(token, request)).toBe(false),
  );
});
