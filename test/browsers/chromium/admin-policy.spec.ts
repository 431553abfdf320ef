import { randomUUID } from 'node:crypto';
import { inChromium } from '../../support/chromium.js';
import { query } from '../../support/database.js';
import { bearer, signIn } from '../../support/sign-in.js';
import { expectAccessible, goTo, signInAs, takePictures } from '../admin-visitor.js';
import { useVisitors } from '../demo-visitor.js';
import { useService } from '../../support/use.js';

const SERVICE_KEY = 'k'.repeat(32);
const RULE = 'email_domain=corp.example&claim:plan, claim:groups=staff';

/** Who may sign in, and for how long, on the administration page (docs/administration.md#the-views). */
inChromium('the administration page', () => {
  const { provider, service } = useService({
    PROVIDERS_STUB_ALLOW: RULE,
    SESSION_IDLE_TTL: '1800',
    MAX_SESSIONS: '3',
    SERVICE_KEYS: SERVICE_KEY,
  });
  const { page } = useVisitors();
  beforeAll(() => provider.signInAtOnce());

  it('shows the rule of each provider, and the verdict of a test sign-in', async () => {
    await signInAs(page, `${service.url}/admin`, 'Ada');
    await goTo(page, 'Providers');
    const sample = page.getByRole('region', { name: 'Sample provider' });
    await sample.getByText('Everyone whom this provider sends').waitFor();
    const stub = page.getByRole('region', { name: 'stub' });
    expect(await stub.locator('.conditions li').allTextContents()).toEqual(RULE.split(', '));

    const test = async (claims: object, sentence: string): Promise<void> => {
      provider.claims.set('ada', claims);
      await stub.getByRole('button', { name: /^Test/ }).click();
      await stub.getByText(sentence).waitFor();
    };
    await test({ groups: ['guests'] }, 'This account may not sign in: no condition holds.');
    await stub.getByText('The first one fails at email_domain').waitFor();
    await expectAccessible(page, 'a refused test');
    await takePictures(page, 'admin-refused');
    await test({ groups: ['staff'] }, 'This account may sign in, by claim:groups=staff.');
    await expectAccessible(page, 'an admitted test');
    await takePictures(page, 'admin-admitted');
  });

  it('shows when and why a session will end, and why one has ended', async () => {
    provider.claims.set('grace', { groups: ['staff'] });
    const devices = Array.from({ length: 4 }, () => ({ device_id: randomUUID() }));
    let userId = '';
    for (const device of devices) ({ user_id: userId } = await signIn(service.url, 'grace', device));
    const change = (assignment: string, device: number): Promise<unknown> =>
      query(
        service.databaseUrl,
        `UPDATE refresh_tokens SET ${assignment} WHERE user_id = $1 AND device_id = $2`,
        [userId, devices[device]!.device_id],
      );
    // As without the setting, and as a provider with session_expiry would have it.
    await change('idle_ends_at = NULL', 2);
    await change(
      `idle_ends_at = NULL, ends_because = 'session_expiry', expires_at = now() + interval '2 hours 1 minute'`,
      3,
    );
    await signInAs(page, `${service.url}/admin/users/${userId}`, 'Ada');
    const sessions = page.getByRole('table', { name: 'Sessions' });
    await sessions.getByText('in 29 minutes').waitFor();
    const ends = sessions.locator('td').filter({ has: page.locator('time + .second') });
    const words = (await ends.allTextContents()).map((text) => text.replace(/^.*?(?=its|if|the)/, ''));
    expect(words.toSorted()).toEqual([
      'if it is not used before',
      'the end of its lifetime',
      'the provider’s session',
    ]);
    await sessions.getByText('in 2 hours').waitFor();
    const audit = page.getByRole('region', { name: 'Audit' });
    await audit.getByText('The user signed in elsewhere, beyond the limit of sessions').waitFor();
    await expectAccessible(page, 'ends of sessions');
    await takePictures(page, 'admin-ends');

    const patch = { suspended: true };
    await bearer(service.url, SERVICE_KEY).patch(`/users/${userId}`, patch).expect(200);
    await page.reload();
    await audit.getByText('The user was suspended').first().waitFor();
    await takePictures(page, 'admin-causes');
  });
});
