import { createVerifier, requireRecentAuth, type Verifier } from '../src/index.js';
import { RequireRecentAuth } from '../src/nestjs.js';

/** Options that do not exist: a misspelled one would be ignored, and do something else than what was meant. */
describe('an unknown option', () => {
  const latchkey = createVerifier({ issuer: 'http://localhost:9' });
  afterAll(() => latchkey.close());
  /** As in JavaScript, without types. */
  const { users, audit } = latchkey;
  const as = (options: object): never => options as never;

  const CALLS: [string, () => unknown, string][] = [
    [
      'createVerifier',
      () => createVerifier(as({ issuer: 'http://a.example', servicekey: 'x' })),
      'serviceKey?',
    ],
    [
      'createVerifier',
      () => createVerifier(as({ issuer: 'http://a.example', cookieSecret: 'x' })),
      'there are issuer',
    ],
    ['createVerifier', () => createVerifier(as({ issuer: 'http://a.example', whenAwy: 'x' })), 'whenAway?'],
    ['requireRecentAuth', () => requireRecentAuth(as({ maxAge: 300, acrs: 'gold' })), 'acr?'],
    ['requireRecentAuth', () => RequireRecentAuth(as({ max_age: 300 })), 'maxAge?'],
    ['push', () => latchkey.push(as({ userId: 'u', event: 'e', deviceID: 'd' })), 'deviceId?'],
    ['users.find', () => users.find(as({ emial: 'ada@example.com' })), 'email?'],
    ['users.find', () => users.find(as({ name: 'ada' })), 'there are q,'],
    ['users.devices', () => users.devices('u', as({ curser: 'x' })), 'cursor?'],
    ['users.sessions', () => users.sessions('u', as({ limit: 1 })), 'there are cursor'],
    ['users.signOut', () => users.signOut('u', as({ deviceID: 'd' })), 'deviceId?'],
    ['users.signOut', () => users.signOut(as({ emails: 'ada@example.com' })), 'email?'],
    ['audit.find', () => audit.find(as({ user_id: 'u' })), 'userId?'],
    ['audit.find', () => audit.find(as({ request_id: 'r' })), 'requestId?'],
    ['audit.find', () => audit.find(as({ ip: 'r' })), 'there are userId'],
    ['audit.count', () => audit.count(as({ by: 'error', limit: 1 })), 'there are by'],
    ['audit.stream', () => audit.stream(as({ lastEventID: '1' })), 'lastEventId?'],
  ];

  it.each(CALLS)(
    'of %s is refused before any call, with what is probably meant',
    async (name, call, expected) => {
      const thrown: unknown = await Promise.resolve()
        .then(call)
        .catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(TypeError);
      expect(String(thrown)).toContain(`${name}() has no option `);
      expect(String(thrown)).toContain(expected);
    },
  );

  it('is none that exists, also without a value', () => {
    const closed: Verifier = createVerifier({
      issuer: 'http://localhost:9',
      url: 'http://localhost:9',
      serviceKey: 'x',
      whenAway: 'refuse',
      clockTolerance: 1,
      onWarning: () => undefined,
    });
    closed.close();
    expect(() => users.find({ q: undefined, suspended: undefined, limit: 1 })).not.toThrow();
  });
});
