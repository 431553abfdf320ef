import { randomUUID } from 'node:crypto';
import { tokensAt } from '../../linking/person.js';
import { inChromium } from '../../support/chromium.js';
import { SERVICE_KEY } from '../../support/service.js';
import { bearer, signIn } from '../../support/sign-in.js';
import { useService } from '../../support/use.js';
import { expectAccessible, signInAs, takePictures } from '../admin-visitor.js';
import { useVisitors } from '../demo-visitor.js';

/** Identities of users on the administration page (docs/guides/linking.md#for-support). */
inChromium('the administration page', () => {
  const { provider, service } = useService(() => ({
    SERVICE_KEYS: SERVICE_KEY,
    ...provider.env('HUB'),
    PROVIDERS_STUB_LINKS: 'hub',
  }));
  const { page } = useVisitors();
  beforeEach(() => page.setDefaultTimeout(20_000));

  const backend = () => bearer(service.url, SERVICE_KEY);
  const identities = () => page.getByRole('region', { name: 'Identities' });
  const dialog = () => page.getByRole('dialog');
  const open = async (userId: string): Promise<void> => {
    await signInAs(page, `${service.url}/admin/users/${userId}`, 'Ada');
    await identities().getByRole('row').first().waitFor();
  };
  const join = async (id: string): Promise<void> => {
    await identities().getByRole('button', { name: 'Join by hand' }).click();
    await dialog().getByLabel('Id of the account there').fill(id);
    await dialog().getByRole('button', { name: 'Join' }).click();
  };

  it('joins an account by hand, and parts it', async () => {
    const id = randomUUID();
    const { user_id } = await signIn(service.url);
    await open(user_id);
    await identities().getByRole('button', { name: 'Join by hand' }).click();
    await dialog().getByText('signs in as Ada from then on').waitFor();
    await expectAccessible(page, 'the question before an identity is joined');
    await takePictures(page, 'admin-join');
    await page.keyboard.press('Escape');
    await join(id);
    await page.getByRole('status').getByText('The identity is joined.').waitFor();
    await identities().getByText('Not known before a sign-in').waitFor();
    expect((await tokensAt(service, 'hub', id)).user_id).toBe(user_id);
    await page.reload();
    await identities().getByRole('button', { name: 'Part hub' }).waitFor();
    await expectAccessible(page, 'identities');
    await takePictures(page, 'admin-identities');

    await identities().getByRole('button', { name: 'Part hub' }).click();
    await dialog().getByText('Sessions of Ada that have begun at hub end at once.').waitFor();
    await dialog().getByRole('button', { name: 'Part' }).click();
    await page.getByRole('status').getByText('The identity is parted.').waitFor();
    await identities().getByRole('button', { name: 'Part hub' }).waitFor({ state: 'detached' });
    expect((await tokensAt(service, 'hub', id)).user_id).not.toBe(user_id);
  });

  it('names the other person if the account is theirs', async () => {
    const id = randomUUID();
    await tokensAt(service, 'hub', id);
    const { user_id } = await signIn(service.url);
    await open(user_id);
    await join(id);
    await dialog().getByRole('alert').getByText('This account signs in here as Ada.').waitFor();
  });

  it('shows whose a former user is now, and one trail of both', async () => {
    const id = randomUUID();
    const former = await tokensAt(service, 'hub', id);
    const own = await signIn(service.url);
    const caller = bearer(service.url, own.access_token);
    const begun = await caller.post('/me/identities', { provider: 'hub' }).expect(200);
    const { state } = begun.body as { state: string };
    const { body } = await caller.post('/me/identities/complete', { code: id, state }).expect(409);
    const { merge_token } = body as { merge_token: string };
    await caller.post('/me/identities/merge', { merge_token }).expect(200);
    await backend().get(`/users/${former.user_id}`).expect(404);
    await signInAs(page, `${service.url}/admin/users/${former.user_id}`, 'Ada');
    await page.getByRole('link', { name: 'another user' }).click();
    await page.getByText('User merged').waitFor();
    expect(new URL(page.url()).pathname).toContain(own.user_id);
    await takePictures(page, 'admin-merged');
  });
});
