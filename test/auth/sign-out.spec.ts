import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import request from 'supertest';
import { Clock } from '../../src/platform/database/clock.js';
import { Events, type SessionIds } from '../../src/platform/events.js';
import { makeRefreshToken } from '../../src/token/refresh/refresh-token.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { dump, query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { until } from '../support/waiting.js';
import { useInstances } from '../support/use.js';

const NOBODY = { userId: randomUUID(), sessionId: randomUUID(), deviceId: null };
const both = ({ access_token, refresh_token }: Tokens): string[] => [access_token, refresh_token];

/** Signing out sets the expiry of sessions (spec §1, §2.2), on two instances that share a database. */
describe('the end of sessions', () => {
  let user: string;

  const { here, there } = useInstances({ SERVICE_KEYS: SERVICE_KEY });
  beforeEach(() => {
    user = randomUUID();
  });

  const sidOf = ({ access_token }: Tokens) => claimsOf(access_token)['sid'] as string;
  const onDevice = (device_id: string) => signIn(here.url, user, { device_id });

  /** A living session can refresh and is let in; an ended one neither, on any instance. */
  async function isAlive(tokens: Tokens): Promise<boolean> {
    const statuses = [];
    for (const { url } of [there, here]) {
      statuses.push((await bearer(url, tokens.access_token).get('/me')).status);
      statuses.push((await request(url).post('/oauth2/refresh').send(tokens)).status);
    }
    expect(new Set(statuses).size).toBe(1);
    expect([200, 401]).toContain(statuses[0]);
    return statuses[0] === 200;
  }
  const alive = async (all: Tokens[]) => {
    const states = [];
    for (const tokens of all) states.push(await isAlive(tokens));
    return states;
  };

  describe('POST /sign-out', () => {
    it.each([
      ['current, by default', undefined, [false, false, true, true]],
      ['current', { scope: 'current' }, [false, false, true, true]],
      ['others', { scope: 'others' }, [true, true, false, false]],
      ['all', { scope: 'all' }, [false, false, false, false]],
    ])('%s, from a device with two sessions', async (_name, body, expected) => {
      const [device, other] = [randomUUID(), randomUUID()];
      const sessions = [
        await onDevice(device),
        await onDevice(device),
        await onDevice(other),
        await signIn(here.url, user),
      ];
      await bearer(here.url, sessions[0]!.access_token).post('/sign-out', body).expect(204, {});
      expect(await alive(sessions)).toEqual(expected);
    });

    it.each([
      ['current', [false, true, true]],
      ['others', [true, false, false]],
    ])('%s, from a session without a device', async (scope, expected) => {
      const sessions = [
        await signIn(here.url, user),
        await signIn(here.url, user),
        await onDevice(randomUUID()),
      ];
      await bearer(here.url, sessions[0]!.access_token).post('/sign-out', { scope }).expect(204);
      expect(await alive(sessions)).toEqual(expected);
    });

    it.each([[{ scope: 'everything' }], [{ scope: ['all'] }], [{ scope: 1 }]])(
      'refuses %j and ends nothing',
      async (body) => {
        const tokens = await signIn(here.url, user);
        await bearer(here.url, tokens.access_token).post('/sign-out', body).expect(400);
        expect(await isAlive(tokens)).toBe(true);
      },
    );

    it('sets the expiry to now, and marks the session', async () => {
      const tokens = await signIn(here.url, user);
      await bearer(here.url, tokens.access_token).post('/sign-out').expect(204);
      const [row] = await query(
        here.databaseUrl,
        `SELECT expires_at = signed_out_at AS same, now() - expires_at < $2::interval AS just
         FROM refresh_tokens WHERE user_id = $1`,
        [tokens.user_id, '1 minute'],
      );
      expect(row).toEqual({ same: true, just: true });
    });
  });

  it('a refresh token that expires by itself does not shorten the life of its last access token', async () => {
    const tokens = await signIn(here.url, user);
    await query(here.databaseUrl, 'UPDATE refresh_tokens SET expires_at = now() WHERE user_id = $1', [
      tokens.user_id,
    ]);
    await request(here.url).post('/oauth2/refresh').send(tokens).expect(401);
    await bearer(there.url, tokens.access_token).get('/me').expect(200);
  });

  it('a refresh that races a sign-out leaves no living token behind', async () => {
    for (let round = 0; round < 4; round++) {
      const tokens = await signIn(here.url, randomUUID());
      const refreshes = Array.from({ length: 8 }, (_, i) =>
        request([here, there][i % 2]!.url)
          .post('/oauth2/refresh')
          .send(tokens),
      );
      const signOut = bearer(there.url, tokens.access_token).post('/sign-out');
      const answers = await Promise.all([...refreshes.slice(0, 4), signOut, ...refreshes.slice(4)]);
      for (const { status, body } of answers) {
        if (status === 200)
          await bearer(here.url, (body as Tokens).access_token)
            .get('/me')
            .expect(401);
      }
    }
  });

  it('every instance learns of an ended session within a second, once', async () => {
    const device = randomUUID();
    const tokens = await onDevice(device);
    const heard: [string, SessionIds][] = [];
    for (const [name, service] of Object.entries({ here, there })) {
      service.app.get(Events).on('session.ended', (session) => {
        if (session.userId === tokens.user_id) heard.push([name, session]);
      });
    }
    const { sid } = claimsOf(tokens.access_token);
    const began = performance.now();
    await bearer(here.url, tokens.access_token).post('/sign-out').expect(204);
    const signedOut = performance.now();
    await until(() => heard.length >= 2);
    // A second, and what a busy machine needs in addition: measured by the sign-out itself.
    expect(performance.now() - signedOut).toBeLessThan(1000 + 5 * (signedOut - began));
    const session = { userId: tokens.user_id, sessionId: sid, deviceId: device };
    expect(Object.fromEntries(heard)).toMatchObject({ here: session, there: session });

    await bearer(here.url, (await onDevice(device)).access_token)
      .post('/sign-out')
      .expect(204);
    await until(() => heard.length >= 4);
    expect(heard.filter(([, { sessionId }]) => sessionId === sid)).toHaveLength(2);
  });

  describe('device.signed_out', () => {
    const told = (tokens: Tokens) =>
      query(
        here.databaseUrl,
        `SELECT data::json ->> 'device_id' AS device_id FROM channel_events
         WHERE user_id = $1 AND event = 'device.signed_out'`,
        [tokens.user_id],
      );
    const revoke = (token: string) => request(here.url).post('/oauth2/revoke').send({ token }).expect(200);

    it('comes when the last living session of the device ends, not before', async () => {
      const device = randomUUID();
      const [one, other] = [await onDevice(device), await onDevice(device)];
      await revoke(one.refresh_token);
      expect(await told(one)).toEqual([]);
      await revoke(other.access_token);
      expect(await told(one)).toEqual([{ device_id: device }]);
    });

    it('waits neither for another user’s device of the same id nor for a session that has expired', async () => {
      const device = randomUUID();
      const old = await onDevice(device);
      await query(here.databaseUrl, 'UPDATE refresh_tokens SET expires_at = now() WHERE user_id = $1', [
        old.user_id,
      ]);
      const other = await signIn(here.url, randomUUID(), { device_id: device });
      await revoke((await onDevice(device)).refresh_token);
      expect(await told(old)).toEqual([{ device_id: device }]);
      expect(await isAlive(other)).toBe(true);
    });
  });

  it('signing out again ends and records nothing (so it needs no limit)', async () => {
    const mine = await onDevice(randomUUID());
    const other = await onDevice(randomUUID());
    const again = async (): Promise<void> => {
      await bearer(here.url, mine.access_token).post('/sign-out', { scope: 'others' }).expect(204);
      await request(here.url).post('/oauth2/revoke').send({ token: other.refresh_token }).expect(200);
    };
    await again();
    const state = async (): Promise<string> => {
      await query(here.databaseUrl, 'UPDATE users SET sessions_ended_at = NULL'); // for sign-ins in progress
      return dump(here.databaseUrl);
    };
    const before = await state();
    for (let i = 0; i < 5; i++) await again();
    expect(await state()).toBe(before);
  });

  describe('POST /oauth2/revoke (RFC 7009)', () => {
    it.each(['access_token', 'refresh_token'] as const)('ends just the session of its %s', async (kind) => {
      const device = randomUUID();
      const [one, other] = [await onDevice(device), await onDevice(device)];
      await request(here.url)
        .post('/oauth2/revoke')
        .type('form')
        .send({ token: one[kind], token_type_hint: 'x' })
        .expect(200, {});
      expect(await alive([one, other])).toEqual([false, true]);
    });

    it('judges a refresh token by the database’s clock, whatever the instance’s clock says', async () => {
      const tokens = await onDevice(randomUUID());
      const clock = here.app.get(Clock);
      const now = jest.spyOn(clock, 'now').mockReturnValue(Date.now() + 31 * 86_400_000);
      try {
        await request(here.url).post('/oauth2/revoke').send({ token: tokens.refresh_token }).expect(200, {});
      } finally {
        now.mockRestore();
      }
      expect(await isAlive(tokens)).toBe(false);
    });
  });

  describe('POST /oauth2/introspect (RFC 7662)', () => {
    const introspect = (token: string, hint?: string) =>
      bearer(here.url, SERVICE_KEY).post('/oauth2/introspect', { token, token_type_hint: hint });

    it('says what an access token is', async () => {
      const device = randomUUID();
      const { access_token } = await onDevice(device);
      const { iss, aud, sub, sid, jti, iat, exp } = claimsOf(access_token);
      const facts = { iss, aud, sub, sid, jti, iat, exp, device_id: device };
      for (const hint of [undefined, 'access_token', 'refresh_token'])
        expect((await introspect(access_token, hint).expect(200)).body).toEqual({
          active: true,
          ...facts,
          token_type: 'Bearer',
        });
    });

    it('says what a refresh token is, if asked for one by token_type_hint', async () => {
      const { access_token, refresh_token, user_id } = await signIn(here.url, user);
      const { body } = await introspect(refresh_token, 'refresh_token').expect(200);
      const { iat, exp } = body as { iat: number; exp: number };
      expect(body).toEqual({
        active: true,
        sub: user_id,
        sid: claimsOf(access_token)['sid'],
        iss: here.url,
        aud: here.url,
        iat,
        exp,
        token_type: 'refresh_token',
      });
      expect(exp - iat).toBe(30 * 24 * 3600);
      // It must never give access to a caller that checks `active` only.
      for (const hint of [undefined, 'access_token', ''])
        expect((await introspect(refresh_token, hint).expect(200)).body).toEqual({ active: false });
    });

    const otherSecret = ({ user_id, access_token }: Tokens): string =>
      makeRefreshToken({ userId: user_id, sessionId: sidOf({ access_token } as Tokens), deviceId: null });
    it.each<[string, string, (tokens: Tokens) => string[]]>([
      ['of a session that was signed out', 'expires_at = now(), signed_out_at = now()', both],
      ['of a session that was signed out, before its expiry', 'signed_out_at = now()', both],
      ['that has expired', `expires_at = now()`, ({ refresh_token }) => [refresh_token]],
      ['of an unknown session', '', () => [makeRefreshToken(NOBODY)]],
      ['with another secret', '', (tokens) => [otherSecret(tokens)]],
      [
        'that was changed',
        '',
        ({ access_token, refresh_token }) => [`${access_token.slice(0, -8)}AAAAAAAA`, `${refresh_token}=`],
      ],
      ['that never was one', '', () => ['nonsense']],
    ])('calls a token inactive %s', async (_name, change, texts) => {
      const tokens = await signIn(here.url, user);
      if (change)
        await query(here.databaseUrl, `UPDATE refresh_tokens SET ${change} WHERE session_id = $1`, [
          sidOf(tokens),
        ]);
      for (const token of texts(tokens)) {
        for (const hint of [undefined, 'refresh_token']) {
          expect((await introspect(token, hint).expect(200)).body).toEqual({ active: false });
        }
      }
    });
  });
});
