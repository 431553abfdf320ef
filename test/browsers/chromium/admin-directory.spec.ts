import { inChromium } from '../../support/chromium.js';
import { DIRECTORY_ENV, DirectoryClient } from '../../support/directory.js';
import { signIn } from '../../support/sign-in.js';
import { until } from '../../support/waiting.js';
import { query } from '../../support/database.js';
import { expectAccessible, goTo, signInAs, takePictures } from '../admin-visitor.js';
import { useVisitors } from '../demo-visitor.js';
import { useService } from '../../support/use.js';

/** A directory on the administration page (docs/administration.md#the-views). */
inChromium('the administration page', () => {
  const { provider, service } = useService(DIRECTORY_ENV);
  const { page } = useVisitors();
  beforeAll(() => provider.signInAtOnce());

  it('shows how the synchronisation goes, and what it says of a user', async () => {
    await signInAs(page, `${service.url}/admin`, 'Ada');
    await goTo(page, 'Providers');
    const directory = page.getByRole('region', { name: 'Directory' });
    await directory.getByText('None with the token of this provider').waitFor();
    expect(await directory.count()).toBe(1); // the sample provider has none
    await expectAccessible(page, 'a directory without a request');

    const { user_id } = await signIn(service.url, 'grace');
    const client = new DirectoryClient(service);
    const user = { userName: 'grace@corp.example', externalId: 'grace', active: false };
    await client.create('/Users', user);
    await client.send('POST', '/Users', user).expect(409);
    await until(
      async () => (await query(service.databaseUrl, 'SELECT FROM directory_activity')).length === 1,
    );
    await directory.getByText('uniqueness').waitFor({ timeout: 20_000 });
    const text = (await directory.textContent()) ?? '';
    expect(text).toMatch(/Last request.*now.*POST \/Users.*Users1Groups0Last error/s);
    // Both are in use. PostgreSQL does not say which index it checks first.
    expect(text).toMatch(
      /POST \/Users was refused with 409 uniqueness: (userName|externalId) is already in use/,
    );
    await expectAccessible(page, 'a directory');
    await takePictures(page, 'admin-directory');

    await page.getByRole('region', { name: 'stub' }).getByRole('button', { name: /^Test/ }).click();
    await page.getByText('The directory does not know this account.').waitFor();
    await expectAccessible(page, 'a test sign-in');

    await directory.getByRole('link', { name: 'Changes in the audit trail' }).click();
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    await page.getByRole('cell').filter({ hasText: 'Directory changed' }).first().waitFor();

    await page.goto(`${service.url}/admin/users/${user_id}`);
    const profile = page.getByRole('region', { name: 'Profile' });
    await profile.getByText('Inactive, changed').waitFor();
    await expectAccessible(page, 'a user of a directory');
    await takePictures(page, 'admin-directory-user');
  });
});
