import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { EXAMPLE } from '../../../openapi/examples.js';
import { UUID } from '../../../src/http/parameters/uuid.js';
import { reissue } from '../oidc-id-token.js';
import type { SigningKey } from '../signing-key.js';
import { startTestService, type TestService } from '../service.js';
import { beginSignIn, claimsOf, signIn } from '../sign-in.js';
import { StubProvider } from '../stub-provider.js';

export const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';

/** Puts values in the place of those of the examples. */
export type Living = (text: string) => string;

/** A service with a provider for each example, and living values for what stands in the examples. */
export class LivingService {
  private readonly key = makeKey();

  private constructor(
    readonly service: TestService,
    private readonly provider: StubProvider,
    private readonly corp: StubProvider,
  ) {
    provider.answer = ({ body }, response) => {
      const code = new URLSearchParams(body).get('code') ?? '';
      const identity = { provider_user_id: UUID.test(code) ? code : 'ada', username: 'Ada' };
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(identity));
    };
    corp.answer = ({ path }, response) => {
      const said = path === '/jwks' ? { keys: [{ ...this.key.jwk, d: undefined }] } : this.metadata;
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(said));
    };
  }

  static async start(): Promise<LivingService> {
    const [provider, corp] = [await StubProvider.start(), await StubProvider.start()];
    const service = await startTestService({
      ...provider.env('STUB'),
      ...provider.env('MOCK'),
      ...corp.env('CORP'),
      PROVIDERS_CORP_ADAPTER: 'oidc',
      SERVICE_KEYS: SERVICE_KEY,
    });
    return new LivingService(service, provider, corp);
  }

  get url(): string {
    return this.service.url;
  }

  /** Of a new session on the examples' device, of a new user, and of a sign-in that was begun. */
  async live(): Promise<Living> {
    const user = randomUUID();
    const tokens = await signIn(this.url, user, { device_id: EXAMPLE.deviceId });
    const state = await this.begin();
    const values: [string, string][] = [
      [EXAMPLE.state, state],
      [EXAMPLE.code, user],
      [EXAMPLE.accessToken, tokens.access_token],
      [EXAMPLE.refreshToken, tokens.refresh_token],
      [EXAMPLE.userId, tokens.user_id],
      [EXAMPLE.logoutToken, this.logoutToken(String(claimsOf(tokens.access_token)['sid']))],
      ['"mock","provider_user_id"', '"stub","provider_user_id"'],
      [EXAMPLE.providerUserId, user],
      [EXAMPLE.idempotencyKey, randomUUID()],
    ];
    return (text) => values.reduce((so, [example, living]) => so.replaceAll(example, living), text);
  }

  /** @returns the state of a sign-in with the examples' provider, callback and challenge */
  async begin(): Promise<string> {
    return beginSignIn(this.url, {
      provider: 'mock',
      redirect_uri: EXAMPLE.redirectUri,
      code_challenge: EXAMPLE.codeChallenge,
      code_challenge_method: 'S256',
    });
  }

  async close(): Promise<void> {
    await this.service.close();
    await this.provider.close();
    await this.corp.close();
  }

  private logoutToken(sid: string): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.corp.url,
      aud: 'latchkey',
      iat: now,
      exp: now + 120,
      jti: randomUUID(),
      sid,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    };
    return reissue('e30.e30.', this.key, claims, { alg: 'ES256', kid: 'first', typ: 'logout+jwt' });
  }

  private get metadata(): object {
    const { url } = this.corp;
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
      id_token_signing_alg_values_supported: ['ES256'],
    };
  }
}

function makeKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privateKey,
    jwk: { ...privateKey.export({ format: 'jwk' }), kid: 'first', alg: 'ES256', use: 'sig' },
  };
}
