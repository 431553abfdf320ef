import request from 'supertest';
import type { Person } from '../support/oidc-issuer.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { providersEnv } from '../support/stub-provider.js';
import { warmUp, type Addresses, type Product } from './product.js';

const CALLBACKS = 'http://localhost/callback/';

/** No product can send a logout token there. */
export const NO_LOGOUT: Addresses = {
  callback: (provider) => `${CALLBACKS}${provider}`,
  backChannel: () => 'http://127.0.0.1:9/nowhere',
  signedOut: 'http://localhost/signed-out',
};

/** A service with a provider `plain`, a product with the addresses of `NO_LOGOUT`. */
export class ServiceAtProduct {
  private constructor(
    readonly service: TestService,
    /** Its settings of providers. */
    readonly env: Readonly<Record<string, string>>,
    private readonly product: Product,
  ) {}

  static async start(product: Product, more: Record<string, string>): Promise<ServiceAtProduct> {
    await warmUp(product.issuer);
    const { plain } = product.clients;
    const usual = { adapter: 'oidc', url: product.issuer, redirect_uris: NO_LOGOUT.callback('plain') };
    const env = providersEnv({ plain: { ...usual, ...plain, ...more } });
    return new ServiceAtProduct(await startTestService(env), env, product);
  }

  async signIn(person: Person): Promise<Tokens> {
    const { url } = this.service;
    const begun = await request(url).get('/oauth2/authorize').query({ provider: 'plain' }).expect(200);
    const page = (begun.body as { redirect_url: string }).redirect_url;
    const { searchParams } = (await this.product.authorize(person, page)).url;
    const { code, state, iss } = Object.fromEntries(searchParams);
    const { status, body } = await request(url).post('/oauth2/token').send({ code, state, iss });
    if (status === 200) return body as Tokens;
    throw new Error(`${status} ${JSON.stringify(body)}: ${this.service.log.slice(-5).join('')}`);
  }

  async isAlive({ access_token: token }: Tokens): Promise<boolean> {
    return (await bearer(this.service.url, token).get('/me')).status === 200;
  }

  refresh({ refresh_token }: Tokens): request.Test {
    return request(this.service.url).post('/oauth2/refresh').send({ refresh_token });
  }
}
