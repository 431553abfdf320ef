import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { startTestService } from '../support/service.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';
/** docs/directory.md#if-a-name-changes */
describe('a name that the provider changes before the directory', () => {
  const provider = use(() => StubProvider.start());
  const env = () => ({ ...provider.env(), ...DIRECTORY_ENV, PROVIDERS_STUB_SCIM_CLAIM: 'text' });
  const service = use(() => startTestService(env()));
  const strict = use(() => startTestService({ ...env(), PROVIDERS_STUB_ALLOW: 'claim:roles=boss' }));
  it.each([
    ['open', 'displayName'],
    ['strict', 'displayName'],
    ['open', 'group'],
    ['strict', 'group'],
  ])('takes no rights away: %s, %s', async (which, what) => {
    const one = which === 'open' ? service : strict;
    const directory = new DirectoryClient(one);
    const refresh = ({ refresh_token }: Tokens) =>
      request(one.url).post('/oauth2/refresh').send({ refresh_token });
    const user = randomUUID();
    provider.claims.set(user, { text: `old ${user}`, roles: ['boss'] });
    const id = await directory.create('/Users', { userName: user, externalId: `old ${user}` });
    await signIn(one.url, user);
    provider.claims.set(user, { text: `new ${user}`, roles: ['boss'] });
    const tokens = await signIn(one.url, user);
    if (what === 'displayName')
      await directory
        .patch(`/Users/${id}`, { op: 'replace', path: 'displayName', value: 'Ada 2' })
        .expect(200);
    else await directory.create('/Groups', { displayName: randomUUID(), members: [{ value: id }] });
    const answer = await refresh(tokens);
    expect(answer.body).toMatchObject({ access_token: expect.any(String) });
    expect(claimsOf((answer.body as Tokens).access_token)['roles']).toEqual(['boss']);
  });
});
