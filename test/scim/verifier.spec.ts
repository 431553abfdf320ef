import { randomUUID } from 'node:crypto';
import { createVerifier, type Verifier } from '../../packages/server/src/index.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { Endings } from '../support/endings.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';

/** APIs that verify tokens themselves, and open pages (docs/directory.md), on another instance than the directory's. */
describe('a change at the directory', () => {
  const endings = new Endings();
  let there: TestService;
  let directory: DirectoryClient;
  let verifier: Verifier;

  beforeAll(async () => {
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    const PUBLIC_URL = 'http://localhost:3000';
    const env = { ...provider.env(), ...DIRECTORY_ENV, PUBLIC_URL, SERVICE_KEYS: SERVICE_KEY };
    const here = endings.after(await startTestService(env), (one) => one.close());
    const other = { ...env, DATABASE_URL: here.databaseUrl };
    there = endings.after(await startTestService(other), (one) => one.close());
    directory = new DirectoryClient(here);
    const options = { issuer: PUBLIC_URL, url: there.url, serviceKey: SERVICE_KEY };
    verifier = endings.after(createVerifier(options), (one) => one.close());
    await until(() => verifier.isNotified);
  });
  afterAll(() => endings.run());

  it('reaches the groups, and the end, of a token that was issued before', async () => {
    const user = randomUUID();
    const { access_token: token } = await signIn(there.url, user);
    const page = await SocketClient.connect(there.url, token);
    const id = await directory.create('/Users', { userName: user, externalId: user });
    await directory.create('/Groups', { displayName: 'math', members: [{ value: id }] });
    await until(async () => String((await verifier.verify(token)).groups) === 'math');
    expect((await page.next('claims.changed')).data).toEqual({ claims: { groups: ['math'] } });

    await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }).expect(200);
    await until(async () =>
      verifier.verify(token).then(
        () => false,
        () => true,
      ),
    );
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'invalid_token' });
    expect((await page.next('session.ended')).data).toMatchObject({ cause: 'directory' });
    await page.closed();
  });
});
