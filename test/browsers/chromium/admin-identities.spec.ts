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

  it('shows the accounts of a user, and parts one', async () => {
    const id = randomUUID();
    const { user_id } = await signIn(service.url);
    const account = { provider: 'hub', provider_user_id: id };
    await backend().post(`/users/${user_id}/identities`, account).expect(200);
    await open(user_id);
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
