import type { SessionIds } from '../events.js';
import type { Claims } from '../identity/claims.js';
import { identityHeaders } from './identity-headers.js';

const session: SessionIds = { userId: 'u', sessionId: 's', deviceId: null };

function headers(claims: Claims, withClaims = false): Record<string, string> {
  const entries = Object.entries(identityHeaders(session, claims, withClaims));
  return Object.fromEntries(entries.map(([name, value]) => [name.replace('X-Latchkey-', ''), value]));
}

it('sends every header, also one without a value', () => {
  const empty = { Device: '', Username: '', Email: '', Roles: '', Groups: '', Claims: '' };
  expect(headers({})).toEqual({ User: 'u', Session: 's', ...empty });
  expect(identityHeaders({ ...session, deviceId: 'd' }, {}, true)).toMatchObject({
    'X-Latchkey-Device': 'd',
  });
});

it.each<[string, string]>([
  ['ada@example.com', 'ada@example.com'],
  ['Zoë', 'Zo%C3%AB'],
  ['a,b', 'a%2Cb'],
  ['a\r\nX-Latchkey-User: root', 'a%0D%0AX-Latchkey-User%3A%20root'],
  ['50%', '50%25'],
  ['\ud800', '%EF%BF%BD'],
])('encodes %j', (text, encoded) => {
  expect(headers({ preferred_username: text, email: text })).toMatchObject({
    Username: encoded,
    Email: encoded,
  });
  expect(headers({ roles: [text, 'x'], groups: ['y', text] })).toMatchObject({
    Roles: `${encoded},x`,
    Groups: `y,${encoded}`,
  });
});

it('sends a claim of another type than its header as no value', () => {
  expect(headers({ preferred_username: 7, email: ['a'], roles: 'admin', groups: { a: 1 } })).toMatchObject({
    Username: '',
    Email: '',
    Roles: '',
    Groups: '',
  });
});

it('sends the claims without a header only on demand', () => {
  const claims = { email: 'a@b', roles: ['r'], name: 'Zoë', entitlements: ['e'], plan: { of: ['pro'] } };
  expect(headers(claims)['Claims']).toBe('');
  const sent = Buffer.from(headers(claims, true)['Claims']!, 'base64url').toString();
  expect(JSON.parse(sent)).toEqual({ name: 'Zoë', entitlements: ['e'], plan: { of: ['pro'] } });
  expect(headers({ email: 'a@b' }, true)['Claims']).toBe('');
});

it('has 7 KiB at most', () => {
  const empty = Object.entries(identityHeaders(session, {}, false))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('').length;
  const email = 'e'.repeat(7168 - empty);
  expect(headers({ email })['Email']).toBe(email);
  expect(() => headers({ email: `${email}e` })).toThrow(
    expect.objectContaining({
      error: 'server_error',
      cause: expect.objectContaining({ message: expect.stringContaining('user u') }),
    }),
  );
});
