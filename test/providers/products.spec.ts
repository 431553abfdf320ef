import request from 'supertest';
import { Endings } from '../support/endings.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/installed.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { providersEnv } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { GLEWLWYD_FEATURES, hasGlewlwyd, startGlewlwyd } from './glewlwyd.js';
import { HYDRA_FEATURES, startHydra } from './hydra.js';
import { hydraProgram, keycloakHome } from './installed-products.js';
import { KEYCLOAK_FEATURES, startKeycloak } from './keycloak.js';
import { NODE_OIDC_PROVIDER_FEATURES, startNodeOidcProvider } from './node-oidc-provider.js';
import {
  EMAIL,
  START_MS,
  visit,
  warmUp,
  type Addresses,
  type Features,
  type Product,
  type Visit,
} from './product.js';

const CI = process.env['CI'] !== undefined;
const SIGNED_OUT = 'http://localhost/signed-out';
const CALLBACKS = 'http://localhost/callback/';

const [keycloak, hydra] = [keycloakHome(), hydraProgram()];

describeProduct('Keycloak', keycloak, 'Java, Maven and the download', KEYCLOAK_FEATURES, startKeycloak);
describeProduct('Ory Hydra', hydra, 'Go and the download', HYDRA_FEATURES, startHydra);
describeProduct('node-oidc-provider', '', '', NODE_OIDC_PROVIDER_FEATURES, (_, at) =>
  startNodeOidcProvider(at),
);
describeProduct('Glewlwyd', CI || hasGlewlwyd ? '' : undefined, 'glewlwyd', GLEWLWYD_FEATURES, (_, at) =>
  startGlewlwyd(at),
);

/**
 * Tests of Latchkey with a real identity provider.
 * @param installed where the product is; without it the tests are skipped, since they need `requirement`
 */
function describeProduct(
  name: string,
  installed: string | undefined,
  requirement: string,
  features: Features,
  start: (installed: string, at: Addresses) => Promise<Product>,
): void {
  needs({ [requirement]: installed !== undefined }).describe(name, () => {
    const endings = new Endings();
    let product: Product;
    let service: TestService;
    let port: string;
    const url = (): string => `http://127.0.0.1:${port}`;

    beforeAll(async () => {
      port = String(await freePort());
      const at: Addresses = {
        callback: (provider) => `${CALLBACKS}${provider}`,
        backChannel: (provider) => `${url()}/providers/${provider}/backchannel-logout`,
        signedOut: SIGNED_OUT,
      };
      product = endings.after(await start(installed!, at), (one) => one.stop());
      await warmUp(product.issuer);
      const clients = Object.entries(product.clients).map(([provider, keys]) => {
        const usual = { adapter: 'oidc', url: product.issuer, redirect_uris: at.callback(provider) };
        return [provider, { ...usual, ...(features.claims && { claims: 'groups=groups' }), ...keys }];
      });
      const env = { PORT: port, ...providersEnv(Object.fromEntries(clients) as Record<string, never>) };
      service = endings.after(await startTestService(env), (one) => one.close());
    }, START_MS);
    afterAll(() => endings.run());

    const authorizationPage = async (provider: string, asked: object = {}): Promise<string> => {
      const begun = await request(url())
        .get('/oauth2/authorize')
        .query({ provider, ...asked })
        .expect(200);
      return (begun.body as { redirect_url: string }).redirect_url;
    };

    const exchange = ({ url: { searchParams } }: Visit): request.Test => {
      const { code, state, iss } = Object.fromEntries(searchParams);
      return request(url()).post('/oauth2/token').send({ code, state, iss });
    };

    async function signIn(person: Person, provider = 'plain', asked: object = {}): Promise<Tokens> {
      const page = await authorizationPage(provider, asked);
      const { status, body } = await exchange(await product.authorize(person, page));
      if (status === 200) return body as Tokens;
      throw new Error(`${status} ${JSON.stringify(body)}: ${service.log.slice(-5).join('')}`);
    }

    const isAlive = async ({ access_token: token }: Tokens): Promise<boolean> =>
      (await bearer(url(), token).get('/me')).status === 200;

    it('signs in, with e-mail address and claims', async () => {
      const page = await authorizationPage('plain');
      const { url: callback } = await product.authorize(new Person('ada'), page);
      expect(callback.searchParams.get('iss')).toBe(features.iss ? product.issuer : null);
      const { access_token: token } = await signIn(new Person('ada'));
      const { body } = await bearer(url(), token).get('/me').expect(200);
      expect(body).toMatchObject({ email: EMAIL });
      if (features.claims) expect(body).toMatchObject({ claims: { groups: ['staff'] } });
    });

    it('ends the sessions of the browser in which the user signs out at the product', async () => {
      const [here, elsewhere] = [new Person('ada'), new Person('ada')];
      const sessions = [await signIn(here), await signIn(here), await signIn(elsewhere)];
      const alive = () => Promise.all(sessions.map(isAlive));
      expect(await alive()).toEqual([true, true, true]);
      await product.signOut(here);
      await until(async () => !(await alive())[0], 'the first session has ended');
      expect(await alive()).toEqual([false, false, true]);
    });

    if (features.logout)
      it(`signs out at the product as well, by id_token_hint (${features.logout})`, async () => {
        const person = new Person('ada');
        const tokens = await signIn(person);
        const { body } = await bearer(url(), tokens.access_token)
          .post('/sign-out', { provider_logout: { redirect_uri: SIGNED_OUT } })
          .expect(200);
        const page = (body as { redirect_url: string }).redirect_url;
        expect(new URL(page).searchParams.get('id_token_hint')).toEqual(expect.any(String));
        const { pages } = await visit(person, page, SIGNED_OUT, { logout: 'yes' });
        expect(pages).toBe(features.logout === 'silent' ? 0 : 1);
        const again = await visit(person, `${await authorizationPage('plain')}&prompt=none`, CALLBACKS);
        expect(again.url.searchParams.get('error')).toBe('login_required');
      });

    if (features.asksForAccount)
      it('asks for an account although the browser has a session, by prompt=select_account', async () => {
        const person = new Person('ada');
        await signIn(person);
        const again = await product.authorize(person, await authorizationPage('plain'));
        expect(again.pages).toBe(0);
        const other = await authorizationPage('plain', { prompt: 'select_account' });
        expect((await product.authorize(person, other)).pages).toBeGreaterThan(0);
      });

    if (features.par)
      it('pushes authorization requests (RFC 9126)', async () => {
        const page = new URL(await authorizationPage('par'));
        expect([...page.searchParams.keys()].toSorted()).toEqual(['client_id', 'request_uri']);
        expect(await isAlive(await signIn(new Person('ada'), 'par'))).toBe(true);
      });

    if (features.privateKeyJwt)
      it('authenticates by a key instead of a secret (RFC 7523)', async () => {
        expect(await isAlive(await signIn(new Person('ada'), 'key'))).toBe(true);
      });

    if (features.acr)
      it('steps up by acr_values and max_age, and refuses a user who took them out of the address (RFC 9470)', async () => {
        const person = new Person('ada');
        const claims = async (asked: object): Promise<[pages: number, Record<string, unknown>]> => {
          const visited = await product.authorize(person, await authorizationPage('acr', asked));
          const { body } = await exchange(visited).expect(200);
          const { refresh_token, access_token } = body as Tokens;
          const again = await request(url()).post('/oauth2/refresh').send({ refresh_token }).expect(200);
          const [now, later] = [access_token, (again.body as Tokens).access_token].map(claimsOf);
          const pick = ({ acr, auth_time }: Record<string, unknown>): object => ({ acr, auth_time });
          expect(pick(later!)).toEqual(pick(now!));
          return [visited.pages, now!];
        };
        const [, first] = await claims({});
        expect(first).toMatchObject({ acr: 'silver', auth_time: expect.any(Number) });
        const [pages, { acr }] = await claims({ acr_values: 'silver' });
        expect([pages, acr]).toEqual([0, 'silver']); // the browser has a session

        const address = new URL(await authorizationPage('acr', { acr_values: 'gold' }));
        address.searchParams.delete('acr_values');
        await exchange(await product.authorize(person, address.href)).expect(401, /acr/);

        const [asked, gold] = await claims({ acr_values: 'gold' });
        expect([asked, gold['acr']]).toEqual([1, 'gold']);
        // Keycloak counts whole seconds, and does not ask in the second of a sign-in.
        await until(async () => {
          const [askedAgain, recent] = await claims({ max_age: '0' });
          expect(recent['auth_time']).toBeGreaterThanOrEqual(first['auth_time'] as number);
          return askedAgain > 0;
        }, 'Keycloak asks again');
        await exchange(
          await product.authorize(person, await authorizationPage('acr', { acr_values: 'platinum' })),
        ).expect(401, /acr/);
      });

    it('signs in and out after the product has changed its signing key', async () => {
      const [person, other] = [new Person('ada'), new Person('ada')];
      const before = await signIn(person);
      await product.rotateKeys();
      const after = await signIn(other);
      expect([await isAlive(before), await isAlive(after)]).toEqual([true, true]);
      await product.signOut(other);
      await until(async () => !(await isAlive(after)), 'the session of the new key has ended');
    });
  });
}
