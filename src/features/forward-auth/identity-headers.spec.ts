import type { SessionIds } from '../../platform/events.js';
import type { Claims } from '../../identity/claims.js';
import { identityHeaders } from './identity-headers.js';

const session: SessionIds = { userId: 'u', sessionId: 's', deviceId: null };

function headers(claims: Claims, withClaims = false, profile = {}): Record<string, string> {
  const entries = Object.entries(identityHeaders({ session, ...profile }, claims, withClaims).headers);
  return Object.fromEntries(entries.map(([name, value]) => [name.replace('X-Latchkey-', ''), value]));
}

it('sends every header, also one without a value', () => {
  const empty = {
    Device: '',
    Client: '',
    Scope: '',
    Username: '',
    Email: '',
    Roles: '',
    Groups: '',
    Claims: '',
  };
  expect(headers({})).toEqual({ User: 'u', Session: 's', ...empty });
  const ofDevice = { session: { ...session, deviceId: 'd' } };
  expect(identityHeaders(ofDevice, {}, true).headers).toMatchObject({ 'X-Latchkey-Device': 'd' });
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

it.each<[Claims, object, string, string]>([
  [{}, { username: 'ada', email: 'ada@x' }, 'ada', 'ada@x'],
  [{}, { username: null, email: null }, '', ''],
  [{ email: 'other@x' }, { username: 'ada', email: 'ada@x' }, 'ada', 'other@x'],
  [{ preferred_username: 7, email: ['a'] }, { username: 'Zoë', email: 'z@x' }, 'Zo%C3%AB', 'z@x'],
])('sends the profile where no claim has a text: %j, %j', (claims, profile, Username, Email) => {
  expect(headers(claims, false, profile)).toMatchObject({ Username, Email, Claims: '' });
});

describe('beyond 7 KiB', () => {
  const bytesOf = (sent: Record<string, string>): number =>
    Object.entries(sent).reduce((sum, [name, value]) => sum + `${name}: ${value}\r\n`.length, 0);
  const cut = (claims: Claims, withClaims = true) => {
    const { headers: sent, cuts } = identityHeaders({ session }, claims, withClaims);
    return { bytes: bytesOf(sent), cuts, sent };
  };
  const list = (count: number, of: string): string[] => Array.from({ length: count }, (_, i) => `${of}${i}`);

  it('a value of just this size is sent, and a larger one is left out', () => {
    const email = 'e'.repeat(7168 - bytesOf(identityHeaders({ session }, {}, false).headers));
    expect(cut({ email })).toMatchObject({ bytes: 7168, cuts: [], sent: { 'X-Latchkey-Email': email } });
    expect(cut({ email: `${email}e` })).toMatchObject({
      cuts: [{ name: 'email', fitting: 0, of: 1 }],
      sent: { 'X-Latchkey-Email': '', 'X-Latchkey-User': 'u' },
    });
  });

  it.each([
    ['東日本営業本部', 120, 400],
    ['Отдел продаж, группа ', 60, 400],
    ['قسم المبيعات ', 120, 400],
    ['🏢', 600, 100],
    ['a,b c', 700, 100],
  ])('lists of %s are cut at their end, to whole members', (name, count, room) => {
    const groups = list(count, name);
    const { bytes, cuts, sent } = cut({ roles: ['editor'], groups });
    const members = sent['X-Latchkey-Groups']!.split(',').map(decodeURIComponent);
    expect(members).toEqual(groups.slice(0, members.length));
    expect(cuts).toEqual([{ name: 'groups', fitting: members.length, of: count }]);
    expect(sent['X-Latchkey-Roles']).toBe('editor');
    expect(bytes).toBeLessThanOrEqual(7168);
    expect(bytes).toBeGreaterThan(7168 - room);
  });

  it('other claims are left out, the largest first, and what is sent is whole', () => {
    const claims = { groups: list(30, '語'.repeat(20)), plan: 'pro', large: list(300, 'x'), site: '語' };
    const { bytes, cuts, sent } = cut(claims);
    expect(cuts).toEqual([{ name: 'large', fitting: 0, of: 1 }]);
    const sentClaims = Buffer.from(sent['X-Latchkey-Claims']!, 'base64url').toString();
    expect(JSON.parse(sentClaims)).toEqual({ plan: 'pro', site: '語' });
    expect(bytes).toBeLessThanOrEqual(7168);
    expect(cut(claims, false).cuts).toEqual([]);
  });

  it('the sizes of claims are those of their base64url, to the byte', () => {
    for (let length = 1; length < 8000; length += 7) {
      const { bytes, cuts } = cut({ a: 'x'.repeat(length), __proto__: 1, b: [] });
      expect([length, bytes <= 7168, cuts.length === 0 || bytes < 7168]).toEqual([length, true, true]);
      if (cuts.length > 0) return expect(length).toBeGreaterThan(5000);
    }
    throw new Error('nothing was cut');
  });
});
