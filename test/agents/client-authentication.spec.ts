import { Agent, agentsFile, AGENTS_CONTENT, type AgentTokens } from './agent.js';
import { assertionOf, DocumentHost } from './document-host.js';
import { query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { makeSigningKey } from '../support/signing-key.js';
import { use, useService } from '../support/use.js';

const KEY = makeSigningKey('of the partner');
const OTHER = makeSigningKey('of the partner');
const { d: _private, ...JWK } = KEY.jwk;
const PARTNER = {
  client_id: 'partner',
  client_name: 'Partner',
  redirect_uris: ['https://partner.example/cb'],
  jwks: { keys: [JWK] },
};

describe('a program with a key', () => {
  const host = use(() => DocumentHost.start());
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile({ ...AGENTS_CONTENT, trust: ['127.0.0.1'], clients: [PARTNER] }),
  }));
  beforeAll(() => provider.signInAtOnce());
  beforeEach(() => {
    host.isDown = false;
    host.document = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: host.keysAddress };
  });

  const now = (): number => Math.floor(Date.now() / 1000);
  const assertion = (claims = {}, header = {}, key = KEY) =>
    assertionOf('partner', service.url, key, claims, header);

  it.each([
    ['PUBLIC_URL', ''],
    ['PUBLIC_URL with a slash', '/'],
    ['the token endpoint', '/oauth2/token'],
  ])('proves itself to %s, with the code and with each refresh', async (_to, path) => {
    const agent = new Agent(service.url, PARTNER);
    const aud = service.url + path;
    const redeemed = agent.redeem(await agent.code(), { client_id: undefined, ...assertion({ aud }) });
    const tokens = (await redeemed.expect(200)).body as AgentTokens;
    await agent.refresh(tokens, { client_id: undefined, ...assertion({ aud }) }).expect(200);
    expect((await agent.refresh(tokens).expect(400)).body).toMatchObject({ error: 'invalid_client' });
  });

  it.each<[string, () => Record<string, unknown>]>([
    ['no assertion', () => ({})],
    ['another type', () => ({ ...assertion(), client_assertion_type: 'x' })],
    ['another key', () => assertion({}, {}, OTHER)],
    ['no signature', () => assertion({}, { alg: 'none' })],
    ['a secret of its own', () => ({ client_secret: JSON.stringify(JWK) })],
    ['another audience', () => assertion({ aud: 'https://other.example' })],
    ['another issuer', () => assertion({ iss: 'other' })],
    ['no subject', () => assertion({ sub: undefined })],
    ['no jti', () => assertion({ jti: undefined })],
    ['a jti that is no text', () => assertion({ jti: 7 })],
    ['no exp', () => assertion({ exp: undefined })],
    ['an expired assertion', () => assertion({ exp: now() - 61 })],
    ['one that is not valid yet', () => assertion({ nbf: now() + 120 })],
    ['one for a day', () => assertion({ exp: now() + 86_400 })],
    ['text', () => ({ ...assertion(), client_assertion: 'x.y.z' })],
    ['another client_id beside it', () => ({ ...assertion(), client_id: 'web-agent' })],
  ])('is refused with %s, and the code stays good', async (_what, more) => {
    const agent = new Agent(service.url, PARTNER);
    const code = await agent.code();
    const refused = await agent.redeem(code, more()).expect(400);
    expect(refused.body).toMatchObject({ error: 'invalid_client' });
    await agent.redeem(code, assertion()).expect(200);
  });

  it('uses an assertion once, on any instance', async () => {
    const agent = new Agent(service.url, PARTNER);
    const tokens = (await agent.redeem(await agent.code(), assertion()).expect(200)).body as AgentTokens;
    const another = await service.another();
    try {
      const once = assertion();
      const urls = [service.url, another.url, service.url, another.url];
      const answers = await Promise.all(urls.map((url) => agent.refresh(tokens, once, url)));
      expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
        200, 400, 400, 400,
      ]);
      await agent.refresh(tokens, assertion(), another.url).expect(200);
    } finally {
      await another.close();
    }
  });

  describe('in its document', () => {
    const proof = (key = host.key) => assertionOf(host.clientId, service.url, key);
    const allowed = async (): Promise<[Agent, AgentTokens]> => {
      const agent = new Agent(service.url, host.client);
      return [agent, (await agent.redeem(await agent.code(), proof()).expect(200)).body as AgentTokens];
    };

    it('proves itself also after its document has changed', async () => {
      const [agent, tokens] = await allowed();
      host.document = {}; // `none` now
      const another = await service.another();
      try {
        expect((await agent.refresh(tokens, {}, another.url).expect(400)).body).toMatchObject({
          error: 'invalid_client',
        });
        await agent.refresh(tokens, proof(), another.url).expect(200);
      } finally {
        await another.close();
      }
    });

    it('has the keys that its document has now', async () => {
      const [agent, tokens] = await allowed();
      const former = host.key;
      host.key = makeSigningKey('the next');
      const another = await service.another();
      try {
        await agent.refresh(tokens, proof(former), another.url).expect(400);
        await agent.refresh(tokens, proof(), another.url).expect(200);
      } finally {
        host.key = former; // which the first instance has read
        await another.close();
      }
    });

    it('has the keys of the consent for a day, while its host is down', async () => {
      const [agent, tokens] = await allowed();
      host.isDown = true;
      const another = await service.another();
      try {
        await agent.refresh(tokens, proof(), another.url).expect(200);
        const dayAgo = Date.now() - 86_400_000;
        const older = `UPDATE agent_devices SET authentication = authentication || '{"readAt": ${dayAgo}}'`;
        await query(service.databaseUrl, older);
        const refused = await agent.refresh(tokens, proof(), another.url).expect(503);
        expect(refused.headers['retry-after']).toBe('60');
        expect(refused.body).toMatchObject({ error: 'server_error' });
      } finally {
        await another.close();
      }
    });
  });
});
