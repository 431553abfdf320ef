import { spawn } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.js';
import { Person } from '../support/oidc-issuer.js';
import { isUp, SECRET } from './product.js';
import type { Keycloak } from './keycloak.js';
import { until } from '../support/waiting.js';

const BRIDGE = fileURLToPath(new URL('../../examples/saml/bridge.js', import.meta.url));

/** A running examples/saml/bridge.js. */
export interface Bridge {
  readonly url: string;
  output(): string;
  stop(): Promise<void>;
}

/**
 * Registers a service provider at Keycloak, which signs its requests, and starts the bridge for it.
 * @param redirectUri of Latchkey's client
 */
export async function startBridge(keycloak: Keycloak, redirectUri: string): Promise<Bridge> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const [bridge, another] = [samlClient(url, `${url}/metadata`), samlClient(url, `${url}/another`)];
  for (const client of [bridge, another]) await keycloak.admin('POST', '/latchkey/clients', client);
  const query = new URLSearchParams({ clientId: bridge.clientId }).toString();
  const [made] = (await keycloak.admin('GET', `/latchkey/clients?${query}`)) as { id: string }[];
  const signing = `/latchkey/clients/${made!.id}/certificates/saml.signing/generate`;
  const key = (await keycloak.admin('POST', signing)) as { privateKey: string; certificate: string };

  const descriptor = await (await fetch(`${keycloak.issuer}/protocol/saml/descriptor`)).text();
  const [, certificate = ''] = /<ds:X509Certificate>([^<]+)</.exec(descriptor) ?? [];
  const child = spawn(process.execPath, [BRIDGE], {
    env: {
      PATH: process.env['PATH'],
      PORT: String(port),
      PUBLIC_URL: url,
      CLIENT_SECRET: SECRET,
      REDIRECT_URIS: redirectUri,
      IDP_URL: `${keycloak.issuer}/protocol/saml`,
      IDP_ENTITY_ID: keycloak.issuer,
      IDP_CERT: certificate,
      SP_KEY: pemOf(key.privateKey),
      SP_CERT: key.certificate,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, 'exit');
  await until(() => isUp(`${url}/metadata`), 'the bridge has started');
  return {
    url,
    output: () => output,
    async stop() {
      child.kill();
      await exited;
    },
  };
}

/** Keycloak's form is PKCS#1 without head and foot. */
const pemOf = (key: string): string =>
  createPrivateKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'pkcs1' })
    .export({ format: 'pem', type: 'pkcs8' })
    .toString();

/** Its page `/protocol/saml/clients/<name>` sends a response without a request. */
export const UNSOLICITED = { bridge: 'unsolicited-metadata', another: 'unsolicited-another' };

function samlClient(bridge: string, entityId: string): { clientId: string } & Record<string, unknown> {
  const name = entityId.replace(/.*\//, '');
  const mapper = (attribute: string, protocolMapper: string, config: object): object => ({
    name: attribute,
    protocol: 'saml',
    protocolMapper,
    config: { 'attribute.name': attribute, 'attribute.nameformat': 'Basic', ...config },
  });
  return {
    clientId: entityId,
    protocol: 'saml',
    redirectUris: [`${bridge}/acs`],
    attributes: {
      saml_assertion_consumer_url_post: `${bridge}/acs`,
      saml_idp_initiated_sso_url_name: `unsolicited-${name}`,
      saml_name_id_format: 'persistent',
      'saml.assertion.signature': 'true',
      'saml.server.signature': 'false',
      'saml.signature.algorithm': 'RSA_SHA256',
      'saml.client.signature': String(name === 'metadata'),
      'saml.authnstatement': 'true',
      'saml.force.post.binding': 'true',
    },
    protocolMappers: [
      mapper('name', 'saml-user-property-mapper', { 'user.attribute': 'username' }),
      mapper('email', 'saml-user-property-mapper', { 'user.attribute': 'email' }),
      mapper('groups', 'saml-group-membership-mapper', { single: 'true', 'full.path': 'false' }),
    ],
  };
}

/** A test may change what this person's browser posts to the bridge. */
export class Poster extends Person {
  /** Last post to the bridge, as Keycloak has made it. */
  posted: URLSearchParams | undefined;

  constructor(
    private readonly bridge: string,
    private readonly change: (body: URLSearchParams) => URLSearchParams = (body) => body,
  ) {
    super('ada');
  }

  override fetch(url: URL | string, more: RequestInit = {}): Promise<Response> {
    if (!String(url).startsWith(`${this.bridge}/acs`)) return super.fetch(url, more);
    this.posted = more.body as URLSearchParams;
    return super.fetch(url, { ...more, body: this.change(new URLSearchParams(this.posted)) });
  }
}
