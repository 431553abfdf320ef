import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { AuthorizationCode } from '../../src/auth/clients/authorization-code.entity.js';
import { SealedIdentities } from '../../src/auth/sealed-identities.js';
import { AuthorizationCodes } from '../../src/auth/clients/authorization-codes.js';
import { AuthorizationState } from '../../src/auth/states/authorization-state.entity.js';
import { StateService, type PendingSignIn } from '../../src/auth/states/state.service.js';
import type { Verified } from '../../src/auth/extensions/sign-in-steps.js';
import { SecretKey } from '../../src/platform/config/secrets/secret-key.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { Sql } from '../../src/platform/database/sql.js';
import { Events } from '../../src/platform/events.js';
import { parseIdentity } from '../../src/provider/identity/identity.js';
import { IdTokens } from '../../src/token/sessions/id-tokens.js';
import { deriveUserId } from '../../src/identity/user-id.js';
import { createDatabase, unhurriedOptions } from '../support/database.js';
import { use } from '../support/use.js';

const SETTINGS = { stateTtl: 600 } as Settings;

/** Rows of a sign-in that has begun, on a database without a service. */
describe('what can be used once', () => {
  let batches: unknown[];
  const database = use(() => createDatabase());
  const dataSource = use(
    () =>
      new DataSource({
        ...unhurriedOptions(dataSourceOptions(database.url, 4)),
        entities: [AuthorizationCode, AuthorizationState],
      }).initialize(),
    (one) => one.destroy(),
  );
  beforeEach(async () => {
    batches = [];
    await dataSource.query('TRUNCATE authorization_states, authorization_codes');
  });

  function sql(isDistributed = false): Sql {
    const events = new Events();
    events.on('statement.batched', ({ name, calls }) => void batches.push([name, calls]));
    return new Sql(dataSource, isDistributed, events);
  }

  const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
  const unknown = { error: 'invalid_grant', description: 'state is unknown, used or expired' };
  async function secondsLeft(table: string): Promise<number> {
    const left = `SELECT extract(epoch FROM expires_at - now())::float8 AS left FROM ${table}`;
    const [row] = await dataSource.query<{ left: number }[]>(left);
    return row!.left;
  }

  const full: PendingSignIn = {
    provider: 'corp',
    redirectUri: 'https://app.example/callback',
    codeChallenge: 'challenge',
    memory: { nonce: 'n', list: [1, null, { deep: true }] },
    clientRequest: {
      clientId: 'app',
      redirectUri: 'https://app.example/cb',
      state: null,
      codeChallenge: 'c',
    },
  };
  const bare: PendingSignIn = {
    provider: 'mock',
    redirectUri: 'http://localhost/cb',
    codeChallenge: null,
    memory: null,
    clientRequest: null,
  };

  describe.each([
    ['batched', false],
    ['single, as on Citus', true],
  ])('a state: %s', (_form, isDistributed) => {
    it('keeps all fields, and only the hash of the state', async () => {
      const states = new StateService(sql(isDistributed), dataSource, SETTINGS);
      const state = states.make();
      await states.save(state, full);
      expect(await dataSource.query('SELECT state_hash FROM authorization_states')).toEqual([
        { state_hash: sha256(state) },
      ]);
      const left = await secondsLeft('authorization_states');
      expect(left).toBeGreaterThan(540);
      expect(left).toBeLessThanOrEqual(600);
      expect(await states.consume(state)).toMatchObject(full);
      expect(await dataSource.query('SELECT FROM authorization_states')).toEqual([]);
      expect(batches).toHaveLength(isDistributed ? 0 : 2);
    });

    // Spec §2.3: used only once.
    it('is accepted once', async () => {
      const states = new StateService(sql(isDistributed), dataSource, SETTINGS);
      const [one, other] = [states.make(), states.make()];
      await Promise.all([states.save(one, full), states.save(other, bare)]);
      const racers = await Promise.allSettled(
        [one, one, states.make(), one].map((state) => states.consume(state)),
      );
      expect(racers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const racer of racers)
        if (racer.status === 'rejected') expect(racer.reason).toMatchObject(unknown);
      await expect(states.consume(one)).rejects.toMatchObject(unknown);
      expect(await states.consume(other)).toMatchObject(bare);
    });

    it('is refused after its expiry, and deleted', async () => {
      const states = new StateService(sql(isDistributed), dataSource, { stateTtl: 0 } as Settings);
      const state = states.make();
      await states.save(state, full);
      await expect(states.consume(state)).rejects.toMatchObject(unknown);
      expect(await dataSource.query('SELECT FROM authorization_states')).toEqual([]);
    });
  });

  it('concurrent states each get their own sign-in, in any order', async () => {
    const states = new StateService(sql(), dataSource, SETTINGS);
    const all = Array.from({ length: 12 }, (_, i): [string, PendingSignIn] => [
      states.make(),
      { ...(i % 2 ? full : bare), redirectUri: `https://app.example/${i}` },
    ]);
    await Promise.all(all.map(([state, signIn]) => states.save(state, signIn)));
    const backwards = all.toReversed();
    const kept = await Promise.all(backwards.map(([state]) => states.consume(state)));
    expect(kept).toEqual(backwards.map(([, signIn]) => expect.objectContaining(signIn)));
    expect(batches).toEqual([
      ['state-save', 12],
      ['state-consume', 12],
    ]);
  });

  describe('an authorization code of the service', () => {
    const binding = { clientId: 'app', redirectUri: 'https://app.example/cb', codeChallenge: 'c' };
    const used = { error: 'invalid_grant', description: 'the code is unknown, used or expired' };
    const ada: Verified = {
      provider: 'corp',
      identity: parseIdentity({ provider_user_id: 'ada', username: 'Ada Lovelace' }),
      requestedAt: 1_700_000_000_123,
    };

    const createCodes = (): AuthorizationCodes => {
      const secretKey = new SecretKey(randomBytes(32));
      const idTokens = new IdTokens({ secretKey });
      return new AuthorizationCodes(dataSource, sql(), new SealedIdentities(idTokens));
    };

    // 256 bits, hash only, 60 s, single use.
    it('is accepted once within a minute; only its hash is stored', async () => {
      const codes = createCodes();
      const code = await codes.issue(binding, ada);
      expect(code).toMatch(/^lkc_[\w-]{43}$/);
      expect(await dataSource.query('SELECT code_hash, user_id FROM authorization_codes')).toEqual([
        { code_hash: sha256(code), user_id: deriveUserId('corp', 'ada') },
      ]);
      const left = await secondsLeft('authorization_codes');
      expect(left).toBeGreaterThan(30);
      expect(left).toBeLessThanOrEqual(60);
      const stored = JSON.parse(JSON.stringify(ada)) as Verified; // without undefined members
      expect(await codes.redeem(code)).toMatchObject({ ...binding, ...stored });
      await expect(codes.redeem(code)).rejects.toMatchObject(used);
      await expect(codes.redeem(`lkc_${randomUUID()}`)).rejects.toMatchObject(used);
    });

    it('is refused after its expiry', async () => {
      const codes = createCodes();
      const code = await codes.issue(binding, ada);
      await dataSource.query('UPDATE authorization_codes SET expires_at = now()');
      await expect(codes.redeem(code)).rejects.toMatchObject(used);
    });
  });
});
