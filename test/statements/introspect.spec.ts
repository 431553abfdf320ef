import { randomUUID } from 'node:crypto';
import {
  ACCESS_TOKEN,
  ACCESS_TOKENS,
  FORWARDED_TOKENS,
  REFRESH_TOKEN,
  REFRESH_TOKENS,
} from '../../src/token/access-tokens/introspect.sql.js';
import { byPlace, sessionOf, userOf, useStatements } from '../support/statements.js';

/** The conditions of src/token/access-tokens/introspect.sql.ts. */
describe('the statements of introspection', () => {
  const { run, insert, whileHeld } = useStatements();
  const begin = (columns: object = {}, userId: string = randomUUID()) =>
    insert('refresh_tokens', sessionOf(userId, { ...columns }));
  type Token = Readonly<Record<'user_id' | 'session_id' | 'jti' | 'expires_at' | 'token', string>>;
  const issue = async (columns: object = {}, userId?: string): Promise<Token> => {
    const { user_id, session_id } = await begin(columns, userId);
    const row = { user_id, session_id, jti: randomUUID(), expires_at: 'infinity', token: randomUUID() };
    return insert('access_tokens', row);
  };
  type Session = Awaited<ReturnType<typeof begin>>;
  const SIGN_OUT = 'UPDATE refresh_tokens SET signed_out_at = now() WHERE user_id = $1';

  describe.each([
    ['ACCESS_TOKEN', ACCESS_TOKEN],
    ['ACCESS_TOKENS', ACCESS_TOKENS],
    ['FORWARDED_TOKENS', FORWARDED_TOKENS],
  ])('`%s`', (name, statement) => {
    async function find(all: readonly Token[]): Promise<Record<string, unknown>[]> {
      const keys = ['user_id', 'session_id', 'jti', 'token'] as const;
      if (name !== 'ACCESS_TOKEN')
        return byPlace(
          await run(
            statement,
            keys.map((key) => all.map((one) => one[key])),
          ),
        );
      const found = await Promise.all(
        all.map((one) =>
          run(
            statement,
            keys.map((key) => one[key]),
          ),
        ),
      );
      return found.flatMap((rows, i) => rows.map((row) => ({ ...row, place: i + 1 })));
    }

    it('finds the `stored` token by its whole key and its text', async () => {
      const token = await issue();
      const [second, sibling] = [await issue(), await issue({}, token.user_id)];
      const others = [
        { ...token, token: `${token.token}x` },
        { ...token, jti: randomUUID() },
        { ...token, session_id: sibling.session_id },
        { ...token, user_id: second.user_id },
      ];
      expect((await find([...others, token, second])).map(({ place }) => place)).toEqual([5, 6]);
    });

    it('finds no token of a `session` that is signed out', async () => {
      const [open, ended] = [await issue(), await issue({ signed_out_at: new Date() })];
      expect((await find([ended, open])).map(({ place }) => place)).toEqual([2]);
    });

    it('sees a sign-out that has committed, and waits for none', async () => {
      const token = await issue();
      await whileHeld(
        [SIGN_OUT, [token.user_id]],
        () => run(SIGN_OUT, [token.user_id]),
        async () => {
          expect(await find([token])).toHaveLength(1);
        },
      );
      expect(await find([token])).toEqual([]);
    });

    it('reads the `claimsVersion` of the user; 0 without claims', async () => {
      const [token, other] = [await issue(), await issue()];
      await insert('users', userOf(token.user_id, { claims_version: 7, username: 'Ada', email: 'a@b.c' }));
      const profile = { username: 'Ada', email: 'a@b.c' };
      const expected = name === 'FORWARDED_TOKENS' ? profile : {};
      expect(await find([token, other])).toMatchObject([
        { claimsVersion: 7, ...expected },
        { claimsVersion: 0 },
      ]);
    });
  });

  describe.each([
    ['REFRESH_TOKEN', REFRESH_TOKEN],
    ['REFRESH_TOKENS', REFRESH_TOKENS],
  ])('`%s`', (name, statement) => {
    const HOUR_MS = 3_600_000;
    const find = async (all: readonly Session[]): Promise<Record<string, unknown>[]> => {
      const keys = ['user_id', 'session_id'] as const;
      if (name === 'REFRESH_TOKENS')
        return byPlace(
          await run(
            statement,
            keys.map((key) => all.map((one) => one[key])),
          ),
        );
      const found = await Promise.all(
        all.map((one) =>
          run(
            statement,
            keys.map((key) => one[key]),
          ),
        ),
      );
      return found.flatMap((rows, i) => rows.map((row) => ({ ...row, place: i + 1 })));
    };

    it('finds a session that is neither signed out nor expired', async () => {
      const all = [
        await begin({ signed_out_at: new Date() }),
        await begin({ expires_at: new Date(0) }),
        await begin(),
      ];
      expect(await find(all)).toMatchObject([{ place: 3, tokenHash: all[2]!.token_hash, isIdle: false }]);
      expect(
        await find([
          { ...all[2]!, user_id: randomUUID() },
          { ...all[2]!, session_id: randomUUID() },
        ]),
      ).toEqual([]);
    });

    it('`isIdle`: finds a session past its idle end, so that it can be revoked', async () => {
      const past = new Date(Date.now() - HOUR_MS);
      expect(await find([await begin({ idle_ends_at: past })])).toMatchObject([
        { isIdle: true, expiresAt: past },
      ]);
    });

    it('`expiresAt` is the end that comes first', async () => {
      const [soon, late] = [1, 2].map((hours) => new Date(Date.now() + hours * HOUR_MS)) as [Date, Date];
      const all = [
        await begin({ expires_at: late, idle_ends_at: soon }),
        await begin({ expires_at: soon, idle_ends_at: late }),
        await begin({ expires_at: soon }),
      ];
      expect((await find(all)).map(({ expiresAt }) => expiresAt)).toEqual([soon, soon, soon]);
    });
  });
});
