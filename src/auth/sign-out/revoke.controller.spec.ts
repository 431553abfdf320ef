import { RevokeController } from './revoke.controller.js';

const session = { userId: 'u', sessionId: 's', deviceId: null };

describe('POST /oauth2/revoke (RFC 7009)', () => {
  let done: unknown[];
  beforeEach(() => void (done = []));

  const note = (what: string) => ({
    [what]: (...call: unknown[]) => Promise.resolve(void done.push([what, ...call])),
  });
  const revoke = (token: string) =>
    new RevokeController(
      { inspect: (one: string) => Promise.resolve(one === 'good' ? { session } : undefined) } as never,
      note('signOut') as never,
      note('count') as never,
      {
        query: ({ name }: { name: string }, values: unknown[]) => void done.push([name, ...values]),
      } as never,
    ).revoke({ token }, '192.0.2.1');

  it('ends the session of a token, and counts nothing', async () => {
    expect(await revoke('good')).toEqual({});
    expect(done).toEqual([['signOut', 'session', session]]);
  });

  // §2.2: no error. It is counted (contract §2), and what was read may be the end of a session that is not on the standby yet.
  it('counts a token that is unknown as a bad one, and confirms what it has read', async () => {
    expect(await revoke('unknown')).toEqual({});
    expect(done).toEqual([['count', 'bad_token', '192.0.2.1'], ['confirm-read']]);
  });
});
