import request from 'supertest';
import { bearer } from '../support/bearer.js';
import { Endings } from '../support/endings.js';
import { isFull } from '../support/faults.js';
import { freePort } from '../support/free-port.js';
import { Glewlwyd, GLEWLWYD_CLIENT, hasGlewlwyd } from '../support/glewlwyd.js';
import { needs } from '../support/installed.js';
import type { Person } from '../support/oidc-person.js';
import { startTestService } from '../support/service.js';
import type { Tokens } from '../support/sign-in.js';
import { until } from '../support/until.js';

/** Sign-in and logout with a provider of another make than that of the other tests (docs/providers.md). */
needs({ glewlwyd: hasGlewlwyd, 'npm run test:infra in full': isFull }).describe('Glewlwyd', () => {
  const endings = new Endings();
  let glewlwyd: Glewlwyd;
  let url: string;

  beforeAll(async () => {
    const port = String(await freePort());
    url = `http://localhost:${port}`;
    const logoutUri = `${url}/providers/glewlwyd/backchannel-logout`;
    glewlwyd = endings.after(await Glewlwyd.start(logoutUri), (one) => one.stop());
    endings.after(
      await startTestService({
        PORT: port,
        PROVIDERS_GLEWLWYD_ADAPTER: 'oidc',
        PROVIDERS_GLEWLWYD_URL: glewlwyd.issuer,
        PROVIDERS_GLEWLWYD_CLIENT_ID: GLEWLWYD_CLIENT.id,
        PROVIDERS_GLEWLWYD_CLIENT_SECRET: GLEWLWYD_CLIENT.secret,
        PROVIDERS_GLEWLWYD_SCOPE: 'openid',
        REDIRECT_URIS: 'http://localhost/callback',
      }),
      (one) => one.close(),
    );
  });
  afterAll(() => endings.run());

  async function signIn(person: Person): Promise<Tokens> {
    const begun = await request(url).get('/oauth2/authorize').query({ provider: 'glewlwyd' });
    const callback = await glewlwyd.authorize(person, (begun.body as { redirect_url: string }).redirect_url);
    const { code, state } = Object.fromEntries(callback.searchParams);
    const answer = await request(url).post('/oauth2/token').send({ code, state }).expect(200);
    return answer.body as Tokens;
  }

  it('ends the sessions of the browser in which somebody signs out', async () => {
    const [here, elsewhere] = [
      await glewlwyd.browser('ada', 'a password of ada'),
      await glewlwyd.browser('ada', 'a password of ada'),
    ];
    const sessions = [await signIn(here), await signIn(here), await signIn(elsewhere)];
    const isAlive = async ({ access_token: token }: Tokens) =>
      (await bearer(url, token).get('/me')).status === 200;
    const alive = () => Promise.all(sessions.map(isAlive));
    expect(await alive()).toEqual([true, true, true]);
    await glewlwyd.logOut(here);
    await until(async () => !(await alive())[0]); // it tells in a thread of its own
    expect(await alive()).toEqual([false, false, true]);
  });
});
