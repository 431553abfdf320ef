import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { AuthorizationCodes } from '../../src/auth/clients/authorization-codes.js';
import { ClientStates, type ClientSignIn } from '../../src/auth/clients/client-states.js';
import { StateService, type PendingSignIn } from '../../src/auth/states/state.service.js';
import type { Verified } from '../../src/auth/sign-in/token-issuer.js';
import type { Settings } from '../../src/config/settings/settings.js';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { Sql } from '../../src/database/statements/sql.js';
import { Events } from '../../src/events.js';
import { parseIdentity } from '../../src/provider/identity/identity.js';
import { userIdOf } from '../../src/user/user-id.js';
import { createDatabase, type TestDatabase, unhurriedOptions } from '../support/database.js';

const SETTINGS = { stateTtl: 600 } as Settings;
const EXPIRED = { stateTtl: 0 } as Settings;

/** What begun sign-ins leave in the database until they are finished, without a service (contract §4). */
describe('what is good for one exchange', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let told: unknown[];
  beforeEach(async () => {
    database = await createDatabase();
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 4))).initialize();
    told = [];
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  function sql(isDistributed = false): Sql {
    const events = new Events();
    events.on('statement.shared', ({ name, calls }) => void told.push([name, calls]));
    return new Sql(dataSource, isDistributed, events);
  }

  const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
  const unknown = { error: 'invalid_grant', description: 'state is unknown, used or expired' };
  const newState = (): string => randomBytes(32).toString('hex');
  const statements = async (): Promise<string[]> =>
    (await dataSource.query<{ name: string }[]>('SELECT name FROM pg_prepared_statements'))
      .map(({ name }) => name)
      .toSorted();
  async function secondsLeft(table: string): Promise<number> {
    const left = `SELECT extract(epoch FROM expires_at - now())::float8 AS left FROM ${table}`;
    const [row] = await dataSource.query<{ left: number }[]>(left);
    return row!.left;
  }

  const named: PendingSignIn = {
    provider: 'corp',
    redirectUri: 'https://app.example/callback',
    codeChallenge: 'challenge',
    memory: { nonce: 'n', list: [1, null, { deep: true }] },
  };
  const bare: PendingSignIn = {
    provider: 'mock',
    redirectUri: 'http://localhost/cb',
    codeChallenge: null,
    memory: null,
  };

  describe.each([
    ['with others', false],
    ['alone, as on Citus', true],
  ])('a state, kept %s', (_form, isDistributed) => {
    it.each([
      ['all that was asked for', named],
      ['only what is needed', bare],
    ])('stands for %s', async (_what, signIn) => {
      const states = new StateService(sql(isDistributed), SETTINGS);
      const state = states.make();
      await states.save(state, signIn);
      expect(await dataSource.query('SELECT state_hash FROM authorization_states')).toEqual([
        { state_hash: sha256(state) },
      ]);
      const left = await secondsLeft('authorization_states');
      expect(left).toBeGreaterThan(540);
      expect(left).toBeLessThanOrEqual(600);
      expect(await states.consume(state)).toMatchObject(signIn);
      expect(await dataSource.query('SELECT FROM authorization_states')).toEqual([]);
    });

    // Spec §2.3: used only once.
    it('is good once, and only where it is known', async () => {
      const states = new StateService(sql(isDistributed), SETTINGS);
      const [one, other] = [states.make(), states.make()];
      await Promise.all([states.save(one, named), states.save(other, bare)]);
      const racers = await Promise.allSettled([one, one, newState(), one].map((it) => states.consume(it)));
      expect(racers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const racer of racers)
        if (racer.status === 'rejected') expect(racer.reason).toMatchObject(unknown);
      await expect(states.consume(one)).rejects.toMatchObject(unknown);
      expect(await states.consume(other)).toMatchObject(bare);
    });

    it('is not good when it has expired, and is gone when somebody has tried', async () => {
      const states = new StateService(sql(isDistributed), EXPIRED);
      const state = states.make();
      await states.save(state, named);
      await expect(states.consume(state)).rejects.toMatchObject(unknown);
      expect(await dataSource.query('SELECT FROM authorization_states')).toEqual([]);
    });

    it('by statements that are planned once for each connection', async () => {
      const states = new StateService(sql(isDistributed), SETTINGS);
      const state = states.make();
      await states.save(state, named);
      await states.consume(state);
      expect(await statements()).toEqual(['state-consume', 'state-save']);
      expect(told).toEqual(
        isDistributed
          ? []
          : [
              ['state-save', 1],
              ['state-consume', 1],
            ],
      );
    });
  });

  it('each of the states that come at once gets its own back, in whatever order', async () => {
    const states = new StateService(sql(), SETTINGS);
    const all = Array.from({ length: 12 }, (_, i): [string, PendingSignIn] => [
      states.make(),
      { ...(i % 2 ? named : bare), redirectUri: `https://app.example/${i}` },
    ]);
    await Promise.all(all.map(([state, signIn]) => states.save(state, signIn)));
    const backwards = all.toReversed();
    const kept = await Promise.all(backwards.map(([state]) => states.consume(state)));
    expect(kept).toEqual(backwards.map(([, signIn]) => expect.objectContaining(signIn)));
    expect(told).toEqual([
      ['state-save', 12],
      ['state-consume', 12],
    ]);
  });

  describe('a state of a stock client', () => {
    const client = {
      clientId: 'app',
      redirectUri: 'https://app.example/cb',
      state: 'its own',
      codeChallenge: 'c',
    };
    const signIn: ClientSignIn = {
      provider: 'corp',
      redirectUri: 'https://latchkey.example/providers/corp/callback',
      memory: { nonce: 'n' },
      client,
    };

    it.each([
      ['all that was asked for', signIn],
      ['only what is needed', { ...signIn, memory: null, client: { ...client, state: null } }],
    ])('stands for %s, once', async (_what, it) => {
      const states = new ClientStates(sql(), SETTINGS);
      const state = newState();
      await states.save(state, it);
      const left = await secondsLeft('authorization_states');
      expect(left).toBeGreaterThan(540);
      expect(left).toBeLessThanOrEqual(600);
      expect(await states.consume(state, 'corp')).toMatchObject(it);
      await expect(states.consume(state, 'corp')).rejects.toMatchObject(unknown);
    });

    it('is not good when it has expired', async () => {
      const states = new ClientStates(sql(), EXPIRED);
      const state = newState();
      await states.save(state, signIn);
      await expect(states.consume(state, 'corp')).rejects.toMatchObject(unknown);
    });

    // RFC 9700 §4.4.2.2: each provider has a callback of its own.
    it('is good at the callback of its provider only, and spent at another', async () => {
      const states = new ClientStates(sql(), SETTINGS);
      const state = newState();
      await states.save(state, signIn);
      await expect(states.consume(state, 'other')).rejects.toMatchObject({
        error: 'invalid_grant',
        description: 'state is of another provider',
      });
      await expect(states.consume(state, 'corp')).rejects.toMatchObject(unknown);
    });

    it('is kept by statements that are planned once for each connection', async () => {
      const states = new ClientStates(sql(), SETTINGS);
      const state = newState();
      await states.save(state, signIn);
      await states.consume(state, 'corp');
      expect(await statements()).toEqual(['client-state-consume', 'client-state-save']);
    });
  });

  describe('a code of our own', () => {
    const binding = { clientId: 'app', redirectUri: 'https://app.example/cb', codeChallenge: 'c' };
    const used = { error: 'invalid_grant', description: 'the code is unknown, used or expired' };
    const verifiedOf = (name: string): Verified => ({
      provider: 'corp',
      identity: parseIdentity({ provider_user_id: name, username: `${name} of Lovelace` }),
      asked: 1_700_000_000_123,
    });

    // Contract §4: 256 bits, hash only, 60 s, single use.
    it('stands for whom the provider has verified and for its client, once, for a minute', async () => {
      const codes = new AuthorizationCodes(sql());
      const code = await codes.issue(binding, verifiedOf('ada'));
      expect(code).toMatch(/^lkc_[\w-]{43}$/);
      expect(await dataSource.query('SELECT code_hash, user_id FROM authorization_codes')).toEqual([
        { code_hash: sha256(code), user_id: userIdOf('corp', 'ada') },
      ]);
      const left = await secondsLeft('authorization_codes');
      expect(left).toBeGreaterThan(30);
      expect(left).toBeLessThanOrEqual(60);
      expect(await codes.redeem(code)).toMatchObject({ ...binding, ...verifiedOf('ada') });
      await expect(codes.redeem(code)).rejects.toMatchObject(used);
      await expect(codes.redeem(`lkc_${randomUUID()}`)).rejects.toMatchObject(used);
    });

    it('is not good when it has expired', async () => {
      const codes = new AuthorizationCodes(sql());
      const code = await codes.issue(binding, verifiedOf('ada'));
      await dataSource.query('UPDATE authorization_codes SET expires_at = now()');
      await expect(codes.redeem(code)).rejects.toMatchObject(used);
    });

    it('is kept by statements that are planned once for each connection', async () => {
      const codes = new AuthorizationCodes(sql());
      await codes.redeem(await codes.issue(binding, verifiedOf('ada')));
      await codes.forget(userIdOf('corp', 'ada'));
      expect(await statements()).toEqual([
        'authorization-code-redeem',
        'authorization-code-save',
        'authorization-codes-forget',
      ]);
    });
  });
});
