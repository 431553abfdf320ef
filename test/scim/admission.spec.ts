import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { use, useService } from '../support/use.js';

/** A directory beside an admission service (docs/directory.md#groups-and-roles). */
describe('claims of the admission service', () => {
  let user: string;

  const asked = use(() => WebhookReceiver.start());
  const { service } = useService(() => ({
    ...DIRECTORY_ENV,
    PROVIDERS_STUB_ALLOW: 'claim:groups=math',
    ADMISSION_URL: asked.url,
    ADMISSION_SECRET: WEBHOOK_SECRET,
  }));
  const directory = new DirectoryClient(service);
  beforeEach(() => {
    user = randomUUID();
  });

  const answer = (claims: object): void => {
    asked.answer = (response) => void response.end(JSON.stringify({ allow: true, claims }));
  };
  const refresh = ({ refresh_token }: Tokens) =>
    request(service.url).post('/oauth2/refresh').send({ refresh_token });
  const refreshed = async (tokens: Tokens): Promise<unknown> => {
    const { body } = await refresh(tokens).expect(200);
    return claimsOf((body as Tokens).access_token)['groups'];
  };

  it('stay laid over those of the directory, until the next sign-in', async () => {
    const id = await directory.create('/Users', { userName: user, externalId: user });
    const members = [{ value: id }];
    const group = await directory.create('/Groups', { displayName: 'math', members });
    answer({ groups: ['of the service'] });
    const tokens = await signIn(service.url, user);
    expect(claimsOf(tokens.access_token)['groups']).toEqual(['of the service']);
    expect(await refreshed(tokens)).toEqual(['of the service']); // the first sign-in reads the directory again
    await directory.create('/Groups', { displayName: 'physics', members });
    expect(await refreshed(tokens)).toEqual(['of the service']);
    answer({});
    expect(await refreshed(await signIn(service.url, user))).toEqual(['math', 'physics']);
    await directory.send('DELETE', `/Groups/${group}`).expect(204);
  });

  it('are not read by allow', async () => {
    const id = await directory.create('/Users', { userName: user, externalId: user });
    const members = [{ value: id }];
    const group = await directory.create('/Groups', { displayName: 'math', members });
    answer({ groups: ['math'] });
    const tokens = await signIn(service.url, user);
    await directory.patch(`/Groups/${group}`, { op: 'remove', path: 'members', value: members }).expect(204);
    expect((await refresh(tokens)).body).toMatchObject({ error: 'invalid_grant' });
  });
});
