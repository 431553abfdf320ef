import { randomUUID } from 'node:crypto';
import { createVerifier } from '../../packages/server/src/index.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { SERVICE_KEY } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { use, useInstances } from '../support/use.js';

/** APIs that verify tokens themselves, and open pages (docs/directory.md), on another instance than the directory's. */
describe('a change at the directory', () => {
  const PUBLIC_URL = 'http://localhost:3000';
  const { here, there } = useInstances({ ...DIRECTORY_ENV, PUBLIC_URL, SERVICE_KEYS: SERVICE_KEY });
  const directory = new DirectoryClient(here);
  const options = () => ({ issuer: PUBLIC_URL, url: there.url, serviceKey: SERVICE_KEY });
  const verifier = use(() => createVerifier(options()));
  beforeAll(() => until(() => verifier.isNotified));

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
