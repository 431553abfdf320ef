import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { startTestService, type TestService } from '../support/service.js';
import { authorization, claimsOf, type Tokens } from '../support/sign-in.js';
import { providersEnv, StubProvider } from '../support/stub-provider.js';

/** A provider, or a user of one, that chooses what only the operator may choose: roles, and the id of another user. */
describe('a provider cannot', () => {
  let directory: string;
  let attacker: StubProvider;
  let service: TestService;
  const keys = () => ({ url: attacker.url });
  const oauth2 = (id: string) => ({
    adapter: 'oauth2',
    authorize_url: `${attacker.url}/authorize`,
    token_url: `${attacker.url}/token`,
    userinfo_url: `${attacker.url}/me`,
    claim_user_id: id,
  });

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-claims-'));
    attacker = await StubProvider.start();
    const file = join(directory, 'own.mjs');
    writeFileSync(
      file,
      `export default {
        authorizationUrl: (provider, { state }) => new URL(provider.url + '/login?state=' + state),
        exchange: async () => ({ provider_user_id: 'eve', claims: { roles: ['latchkey-admin'] } }),
      };`,
    );
    const env = providersEnv({
      contract: keys(),
      'contract-named': { ...keys(), claims: 'roles=claims.roles' },
      'contract-other': { ...keys(), claims: 'plan=claims.plan' },
      own: { ...keys(), adapter: file },
      'own-named': { ...keys(), adapter: file, claims: 'roles=roles' },
      ids: oauth2('{org}::{id}'),
    });
    service = await startTestService(env);
  });
  afterAll(async () => {
    await service?.close();
    await attacker?.close();
    rmSync(directory, { recursive: true });
  });

  async function signIn(provider: string, answer: object): Promise<request.Response> {
    attacker.answerWith(200, { access_token: 't', token_type: 'Bearer', ...answer });
    const { state } = await authorization(service.url, { provider });
    return request(service.url).post('/oauth2/token').send({ code: 'c', state });
  }

  it.each([
    ['contract', undefined],
    ['contract-other', undefined],
    ['own', undefined],
    ['contract-named', ['latchkey-admin']], // control
    ['own-named', ['latchkey-admin']], // control
  ])('name a role that no setting keeps: %s', async (provider, roles) => {
    const answer = { provider_user_id: 'eve', claims: { roles: ['latchkey-admin'] } };
    const { body, status } = await signIn(provider, answer);
    expect(status).toBe(200);
    expect(claimsOf((body as Tokens).access_token)['roles']).toEqual(roles);
  });

  it('join two users by an id template', async () => {
    const victim = await signIn('ids', { org: 'a', id: ':b' });
    const other = await signIn('ids', { org: 'c', id: 'b' }); // control
    expect([victim.status, other.status]).toEqual([200, 200]);
    for (const org of ['a:', 'a::', ':', '']) {
      const { status, body } = await signIn('ids', { org, id: 'b' });
      expect([org, status, body]).toEqual([org, 500, expect.objectContaining({ error: 'server_error' })]);
    }
  });

  it.each(['oid,sub', '{org}{id}'])(
    'be used with an id that its users choose: claim_user_id=%s',
    async (id) => {
      const started = startTestService(providersEnv({ ids: oauth2(id) })).then((other) => other.close());
      await expect(started).rejects.toThrow('could choose the id');
    },
  );
});
