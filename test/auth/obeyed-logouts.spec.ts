import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BackchannelLogout } from '../../src/auth/sign-out/backchannel-logout.service.js';
import { signInTogether } from '../../src/auth/sign-in/sign-in-together.js';
import type { SignIn } from '../../src/auth/sign-in/sign-in.js';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import type { Settings } from '../../src/config/settings/settings.js';
import { DatabaseBusy } from '../../src/database/database-busy.js';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { Sql } from '../../src/database/statements/sql.js';
import { SignOutService } from '../../src/device/sign-out.service.js';
import { OAuthError } from '../../src/errors/oauth-error.js';
import { Events } from '../../src/events.js';
import { hashOfName } from '../../src/provider/logout/logged-out.js';
import { LoggedOut } from '../../src/provider/logout/logged-out.js';
import type { Logout } from '../../src/provider/logout/logout-claims.js';
import { createDatabase, type TestDatabase, unhurriedOptions } from '../support/database.js';
import { signInOf } from '../support/written-sign-in.js';

/** What a good logout token does (contract §6), on a database without a service; tokens are judged already. */
describe('a provider’s logout', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let sql: Sql;
  let signOuts: SignOutService;
  let logout: BackchannelLogout;
  let told: unknown[];
  let counted: unknown[];
  let warned: unknown[];
  /** What the token says; an error: it is bad. */
  let judged: Logout | Error;

  beforeEach(async () => {
    [told, counted, warned] = [[], [], []];
    database = await createDatabase();
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 4))).initialize();
    const events = new Events();
    events.on('provider_logout.obeyed', (event) => void told.push(event));
    sql = new Sql(dataSource, false, events);
    const history = new ChannelHistory(dataSource, sql, events, { channelHistory: 1000 } as Settings);
    signOuts = new SignOutService(history, events);
    logout = new BackchannelLogout(
      {
        verify: (_provider: string, _token: string) =>
          judged instanceof Error ? Promise.reject(judged) : Promise.resolve(judged),
      } as never,
      new LoggedOut(sql),
      history,
      signOuts,
      { count: (...what: unknown[]) => Promise.resolve(void counted.push(what)) } as never,
      events,
    );
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void warned.push(line));
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await dataSource.destroy();
    await database.drop();
  });

  const of = (subject: string | null, session: string | null = null): Logout => ({
    jti: randomUUID(),
    subject,
    session,
    until: Date.now() / 1000 + 120,
  });
  const obey = (what: Logout | Error): Promise<void> => {
    judged = what;
    return logout.obey('corp', 'a token', '192.0.2.1');
  };

  /** A session that the provider calls by these names. */
  async function signIn(name: string, subject: string | null, session: string | null): Promise<SignIn> {
    const signedIn = signInOf(name, {
      providerSubject: subject === null ? null : hashOfName('corp', subject),
      providerSession: session === null ? null : hashOfName('corp', session),
    });
    await signInTogether(sql, [signedIn], 1000, null);
    return signedIn;
  }
  async function isAlive({ session }: SignIn): Promise<boolean> {
    const living = 'SELECT FROM refresh_tokens WHERE session_id = $1 AND signed_out_at IS NULL';
    return (await dataSource.query<unknown[]>(living, [session.sessionId])).length > 0;
  }

  it.each<[string, Logout, [ada: boolean, again: boolean, bo: boolean]]>([
    ['a subject: all of their sessions', of('ada'), [false, false, true]],
    ['a session: that one', of(null, 's1'), [false, true, true]],
    ['both: that session', of('ada', 's2'), [true, false, true]],
    ['somebody else', of('nobody'), [true, true, true]],
  ])('ends the sessions of whom it names: %s', async (_whom, names, alive) => {
    const all = [
      await signIn('ada', 'ada', 's1'),
      await signIn('ada', 'ada', 's2'),
      await signIn('bo', 'bo', 's3'),
    ];
    await obey(names);
    expect(await Promise.all(all.map(isAlive))).toEqual(alive);
    const sessions = alive.filter((lives) => !lives).length;
    const userIds = sessions > 0 ? [all[0]!.session.userId] : [];
    expect(told).toEqual([{ provider: 'corp', userIds, sessions }]);
    expect(counted).toEqual([]);
  });

  // Contract §6: a session that was named by its subject alone may be the one that is meant.
  it('that names a session ends those of its subject whose own names are not known', async () => {
    const all = [
      await signIn('ada', 'ada', 's1'),
      await signIn('ada', 'ada', null),
      await signIn('bo', 'bo', null),
    ];
    await obey(of(null, 's1'));
    expect(await Promise.all(all.map(isAlive))).toEqual([false, false, true]);
  });

  // OpenID Connect Back-Channel Logout 1.0 §2.6: a `jti` is good once.
  it('is obeyed once', async () => {
    const once = of('ada');
    await obey(once);
    const ada = await signIn('ada', 'ada', null);
    await expect(obey(once)).rejects.toMatchObject({
      error: 'invalid_request',
      description: 'the logout token was used before',
    });
    expect(await isAlive(ada)).toBe(true);
    expect(told).toHaveLength(1);
    expect(counted).toEqual([['bad_token', '192.0.2.1']]);
  });

  // Contract §2: bad tokens are counted; what is no fault of the sender is not.
  it.each<[string, Error, boolean]>([
    ['a bad one', new OAuthError('invalid_request', 'bad'), true],
    ['one that could not be judged', new OAuthError('server_error', 'away'), false],
    ['any other failure', Object.assign(new Error('x'), { error: 'invalid_request' }), false],
  ])('is refused as it was judged: %s', async (_which, error, isCounted) => {
    await expect(obey(error)).rejects.toBe(error);
    expect(counted).toEqual(isCounted ? [['bad_token', '192.0.2.1']] : []);
    expect(told).toEqual([]);
  });

  it('is refused where one name is that of too many users, and ends nobody’s session', async () => {
    const crowd = Array.from({ length: 101 }, (_, i) =>
      signInOf(`user ${i}`, { providerSubject: hashOfName('corp', 'everybody') }),
    );
    await signInTogether(sql, crowd, 1000, null);
    await expect(obey(of('everybody'))).rejects.toMatchObject({
      error: 'invalid_request',
      description: 'the logout token names too many users',
    });
    expect(await isAlive(crowd[0]!)).toBe(true);
    expect(warned).toEqual([expect.stringMatching(/logout token of provider corp was refused: .*100 users/)]);
    expect([told, counted]).toEqual([[], [['bad_token', '192.0.2.1']]]);
  });

  it('that fails may be sent again', async () => {
    const ada = await signIn('ada', 'ada', null);
    const names = of('ada');
    const busy = new DatabaseBusy('too slow');
    jest.spyOn(signOuts, 'signOutAtProvider').mockRejectedValueOnce(busy);
    await expect(obey(names)).rejects.toBe(busy);
    expect([told, counted, await isAlive(ada)]).toEqual([[], [], true]);
    await obey(names);
    expect(await isAlive(ada)).toBe(false);
  });

  it('looks once more for those who have signed in meanwhile, and tells of all together', async () => {
    const ada = await signIn('ada', 'ada', null);
    let late: SignIn | undefined;
    const look = signOuts.signOutAtProvider.bind(signOuts);
    const looks = jest.spyOn(signOuts, 'signOutAtProvider').mockImplementationOnce(async (...call) => {
      const ended = await look(...call);
      late = await signIn('ada', 'ada', null);
      return ended;
    });
    await obey(of('ada'));
    expect(looks).toHaveBeenCalledTimes(2);
    expect([await isAlive(ada), await isAlive(late!)]).toEqual([false, false]);
    expect(told).toEqual([{ provider: 'corp', userIds: [ada.session.userId], sessions: 2 }]);
  });

  it('is obeyed, and an operator told, where the database goes away before the second look', async () => {
    const ada = await signIn('ada', 'ada', null);
    const away = new DatabaseBusy('away');
    const look = signOuts.signOutAtProvider.bind(signOuts);
    jest.spyOn(signOuts, 'signOutAtProvider').mockImplementationOnce(look).mockRejectedValueOnce(away);
    await obey(of('ada'));
    expect(await isAlive(ada)).toBe(false);
    expect(told).toEqual([{ provider: 'corp', userIds: [ada.session.userId], sessions: 1 }]);
    expect(warned).toEqual([{ err: away, msg: expect.stringContaining('could not be looked for') }]);
  });
});
