import { readLogout } from './provider-tokens.js';

const NOW = 1_000_000;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const GOOD = { iat: NOW, exp: NOW + 60, sub: 'u', sid: 's', jti: 'j', events: { [EVENT]: {} } };
const read = (changes: object): unknown => readLogout({ ...GOOD, ...changes }, NOW);

describe('the claims of a logout token', () => {
  it.each<[string, object, object]>([
    ['with both names', {}, { subject: 'u', session: 's', until: NOW + 60 }],
    ['with ids that are numbers', { sub: 42, sid: 7 }, { subject: '42', session: '7', until: NOW + 60 }],
    ['with sub alone', { sid: undefined }, { subject: 'u', session: null, until: NOW + 60 }],
    ['with sid alone', { sub: undefined }, { subject: null, session: 's', until: NOW + 60 }],
    ['without exp: two minutes', { exp: undefined }, { subject: 'u', session: 's', until: NOW + 120 }],
    ['for long: a day at most', { exp: NOW + 100_000 }, { subject: 'u', session: 's', until: NOW + 86_400 }],
    ['from a clock that is ahead', { iat: NOW + 30 }, { subject: 'u', session: 's', until: NOW + 60 }],
    [
      'with more in the event',
      { events: { [EVENT]: { a: 1 }, other: 2 } },
      { subject: 'u', session: 's', until: NOW + 60 },
    ],
  ])('%s are obeyed', (_name, changes, logout) => expect(read(changes)).toEqual({ jti: 'j', ...logout }));

  it.each<[string, object, string]>([
    ['without iat', { iat: undefined }, 'iat is missing or in the future'],
    ['from the future', { iat: NOW + 31 }, 'iat is missing or in the future'],
    ['that expire now', { iat: NOW - 60, exp: NOW }, 'it has expired'],
    ['without exp, after two minutes', { iat: NOW - 120, exp: undefined }, 'it has expired'],
    ['that were issued a day ago', { iat: NOW - 86_400, exp: NOW + 60 }, 'it has expired'],
    ['without jti', { jti: undefined }, 'jti is missing or unusable'],
    ['without events', { events: undefined }, 'events does not name a back-channel logout'],
    ['with another event', { events: { other: {} } }, 'events does not name a back-channel logout'],
    [
      'with an event that is inherited',
      { events: JSON.parse(`{"__proto__":{"${EVENT}":{}}}`) as object },
      'events does not name a back-channel logout',
    ],
    ['with an event of null', { events: { [EVENT]: null } }, 'events does not name a back-channel logout'],
    ['with a nonce', { nonce: 'n' }, 'it has a nonce'],
    ['without names', { sub: undefined, sid: undefined }, 'it has neither sub nor sid'],
    ['with a sub beyond 2^53', { sub: 2 ** 53 }, 'sub or sid is unusable'],
    ['with a sub of null', { sub: null }, 'sub or sid is unusable'],
  ])('%s are refused', (_name, changes, message) => expect(() => read(changes)).toThrow(new Error(message)));
});
