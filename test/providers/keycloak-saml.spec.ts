import { deflateRawSync } from 'node:zlib';
import request from 'supertest';
import { Endings } from '../support/endings.js';
import { needs } from '../support/installed.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, claimsOf } from '../support/sign-in.js';
import { providersEnv } from '../support/stub-provider.js';
import { keycloakHome } from './installed-products.js';
import { Poster, startBridge, UNSOLICITED, type Bridge } from './keycloak-saml.js';
import { startKeycloak, type Keycloak } from './keycloak.js';
import { EMAIL, PASSWORD, SECRET, START_MS, visit } from './product.js';
import { NO_LOGOUT } from './service-at-product.js';

const home = keycloakHome();
const CALLBACK = NO_LOGOUT.callback('corp');

/** examples/saml (docs/provider-adapter.md#saml) with a real identity provider. */
needs({ 'Java, Maven and the download': home !== undefined }).describe('SAML of Keycloak', () => {
  const endings = new Endings();
  let keycloak: Keycloak;
  let bridge: Bridge;
  let service: TestService;

  beforeAll(async () => {
    keycloak = endings.after(await startKeycloak(home!, NO_LOGOUT), (one) => one.stop());
    bridge = endings.after(await startBridge(keycloak, CALLBACK), (one) => one.stop());
    const corp = { url: bridge.url, client_secret: SECRET, redirect_uris: CALLBACK, pkce: 'on' };
    const rules = { claims: 'groups=claims.groups', allow: 'claim:groups=staff' };
    const env = providersEnv({ corp: { ...corp, ...rules } });
    service = endings.after(await startTestService(env), (one) => one.close());
  }, START_MS);
  afterAll(() => endings.run());

  /** @returns the address of the bridge's page */
  const begin = async (): Promise<string> => {
    const begun = await request(service.url).get('/oauth2/authorize').query({ provider: 'corp' }).expect(200);
    return (begun.body as { redirect_url: string }).redirect_url;
  };
  /** Begins another sign-in. @returns the id of the bridge's request */
  const beginAtKeycloak = async (): Promise<string> => {
    const location = (await fetch(await begin(), { redirect: 'manual' })).headers.get('Location')!;
    return new URL(location).searchParams.get('RelayState')!;
  };
  const finish = (person: Person, page: string, username = 'ada'): Promise<{ url: URL }> =>
    visit(person, page, CALLBACK, { username, password: PASSWORD });
  const exchange = async ({ url }: { url: URL }): Promise<request.Response> => {
    const { code, state } = Object.fromEntries(url.searchParams);
    return request(service.url).post('/oauth2/token').send({ code, state });
  };
  const post = (body: URLSearchParams): Promise<Response> =>
    fetch(`${bridge.url}/acs`, { method: 'POST', body, redirect: 'manual' });

  it('a sign-in with groups, and another of the same user', async () => {
    const person = new Poster(bridge.url);
    const first = await exchange(await finish(person, await begin()));
    expect([first.status, first.body]).toEqual([200, expect.objectContaining({ token_type: 'Bearer' })]);
    const { access_token: token, user_id: userId } = first.body as Record<string, string>;
    expect(claimsOf(token!)).toMatchObject({ groups: ['staff'] });
    const me = await bearer(service.url, token!).get('/me').expect(200);
    expect(me.body).toMatchObject({ username: 'ada', email: EMAIL });
    const second = await exchange(await finish(new Poster(bridge.url), await begin()));
    expect(second.body).toMatchObject({ user_id: userId });
  });

  it('a user without the group is refused', async () => {
    const credentials = [{ type: 'password', value: PASSWORD, temporary: false }];
    const names = { email: 'bob@idp.example', firstName: 'Bob', lastName: 'Roe' };
    await keycloak.admin('POST', '/latchkey/users', {
      username: 'bob',
      enabled: true,
      ...names,
      credentials,
    });
    const refused = await exchange(await finish(new Poster(bridge.url), await begin(), 'bob'));
    expect([refused.status, refused.body]).toEqual([
      403,
      expect.objectContaining({ error: 'access_denied' }),
    ]);
  });

  const xmlOf = (body: URLSearchParams): string =>
    Buffer.from(body.get('SAMLResponse')!, 'base64').toString();
  /** Changes the document, which has to change. */
  const edited =
    (edit: (xml: string) => string) =>
    (body: URLSearchParams): URLSearchParams => {
      const changed = edit(xmlOf(body));
      expect(changed).not.toBe(xmlOf(body));
      body.set('SAMLResponse', Buffer.from(changed).toString('base64'));
      return body;
    };
  const ASSERTION = /<saml:Assertion .*<\/saml:Assertion>/s;
  const SIGNATURE = /<dsig:Signature .*<\/dsig:Signature>/s;
  const forged = (assertion: string): string =>
    assertion
      .replace(SIGNATURE, '')
      .replace(/ ID="[^"]+"/, ' ID="ID_forged"')
      .replaceAll('>staff<', '>admins<');

  it.each<[string, (xml: string) => string, RegExp]>([
    ['with another group', (xml) => xml.replace('>staff<', '>admins<'), /Invalid signature/],
    [
      'with another name',
      (xml) => xml.replace(/(<saml:NameID[^>]*>)[^<]+/, '$1someone'),
      /Invalid signature/,
    ],
    ['without its signature', (xml) => xml.replace(SIGNATURE, ''), /Invalid signature/],
    [
      'beside a forged assertion',
      (xml) => xml.replace(ASSERTION, (it) => forged(it) + it),
      /multiple assertions/,
    ],
    [
      'wrapped into a forged assertion',
      (xml) =>
        xml.replace(ASSERTION, (it) => forged(it).replace('<saml:Subject>', () => `${it}<saml:Subject>`)),
      /Invalid signature/,
    ],
    [
      'to another request',
      (xml) => xml.replace(/(<samlp:Response [^>]*InResponseTo=")[^"]+/, '$1_another'),
      /InResponseTo is not valid/,
    ],
    ['that is no XML', () => 'nothing', /./],
  ])('a response %s is refused', async (_, edit, reason) => {
    const page = await begin();
    const before = bridge.output().length;
    await expect(finish(new Poster(bridge.url, edited(edit)), page)).rejects.toThrow(/acs answered 403/);
    expect(bridge.output().slice(before)).toMatch(/^A response was refused: /);
    expect(bridge.output().slice(before)).toMatch(reason);
  });

  it('a response is refused the second time, and as the answer to another sign-in', async () => {
    const person = new Poster(bridge.url);
    await finish(person, await begin());
    expect((await post(person.posted!)).status).toBe(400);

    const body = new URLSearchParams(person.posted);
    body.set('RelayState', await beginAtKeycloak());
    expect((await post(body)).status).toBe(403);
    // The attribute is not signed, unlike the assertion.
    const other = await beginAtKeycloak();
    const changed = edited((xml) => xml.replace(/(<samlp:Response [^>]*InResponseTo=")[^"]+/, `$1${other}`))(
      body,
    );
    changed.set('RelayState', other);
    expect((await post(changed)).status).toBe(403);
    expect(bridge.output()).toMatch(/InResponseTo does not match subjectInResponseTo/);
  });

  it('a response for another service provider is refused, although it names the request', async () => {
    const id = await beginAtKeycloak();
    const xml = `<p:AuthnRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" ID="${id}" Version="2.0"
      IssueInstant="${new Date().toISOString()}" AssertionConsumerServiceURL="${bridge.url}/acs"><s:Issuer
      xmlns:s="urn:oasis:names:tc:SAML:2.0:assertion">${bridge.url}/another</s:Issuer></p:AuthnRequest>`;
    const SAMLRequest = deflateRawSync(xml).toString('base64');
    const query = new URLSearchParams({ SAMLRequest, RelayState: id }).toString();
    const page = `${keycloak.issuer}/protocol/saml?${query}`;
    await expect(finish(new Poster(bridge.url), page)).rejects.toThrow(/acs answered 403/);
    expect(bridge.output()).toMatch(/audience mismatch/);
  });

  it.each(Object.values(UNSOLICITED))('%s: an unsolicited response is refused', async (name) => {
    const pending = await beginAtKeycloak();
    const page = `${keycloak.issuer}/protocol/saml/clients/${name}`;
    await expect(finish(new Poster(bridge.url), page)).rejects.toThrow(/acs answered 400/);
    const query = new URLSearchParams({ RelayState: pending }).toString();
    await expect(finish(new Poster(bridge.url), `${page}?${query}`)).rejects.toThrow(/acs answered 403/);
  });

  it('only registered redirect URIs are redirected to, and a body of 100 KiB is not read', async () => {
    const page = new URL(await begin());
    page.searchParams.set('redirect_uri', 'https://attacker.example/');
    expect((await fetch(page, { redirect: 'manual' })).status).toBe(400);
    const body = new URLSearchParams({ SAMLResponse: 'A'.repeat(102_400), RelayState: '_x' });
    expect((await post(body)).status).toBe(413);
  });

  it('its metadata have the address and the key', async () => {
    const metadata = await (await fetch(`${bridge.url}/metadata`)).text();
    expect(metadata).toContain(`Location="${bridge.url}/acs"`);
    expect(metadata).toMatch(/AuthnRequestsSigned="true"[^]*<ds:X509Certificate>/);
  });
});
