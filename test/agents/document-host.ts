import { randomUUID } from 'node:crypto';
import { reissue, makeSigningKey, type SigningKey } from '../support/signing-key.js';
import { StubProvider } from '../support/stub-provider.js';

/** A program on the web that publishes its document, and signs its assertions (RFC 7523). */
export class DocumentHost {
  key = makeSigningKey('of the program');
  /** Members of the document, in place of the usual ones or beside them. */
  document: object = {};
  isDown = false;

  private constructor(private readonly stub: StubProvider) {
    stub.answer = ({ path }, response) => {
      if (this.isDown) {
        response.writeHead(503).end();
        return;
      }
      const { d: _private, ...jwk } = this.key.jwk;
      const answer = path === '/keys' ? { keys: [jwk] } : { ...this.usual, ...this.document };
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
    };
  }

  static async start(): Promise<DocumentHost> {
    return new DocumentHost(await StubProvider.start());
  }

  get clientId(): string {
    return `${this.stub.url}/program`;
  }

  get keysAddress(): string {
    return `${this.stub.url}/keys`;
  }

  /** Paths that were asked for. */
  get paths(): string[] {
    return this.stub.requests.map(({ path }) => path);
  }

  get client(): { client_id: string; redirect_uris: readonly string[] } {
    return { client_id: this.clientId, redirect_uris: ['https://program.example/cb'] };
  }

  private get usual(): object {
    return { ...this.client, client_name: 'A Program' };
  }

  async close(): Promise<void> {
    await this.stub.close();
  }
}

/** Parameters of a client that proves itself by an assertion; `undefined` removes a claim. */
export function assertionOf(
  clientId: string,
  audience: string,
  key: SigningKey,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): { client_assertion_type: string; client_assertion: string } {
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: clientId, sub: clientId, aud: audience, iat: now, exp: now + 60, jti: randomUUID() };
  const all = { ...usual, ...claims };
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: reissue('e30.e30.', key, all, { alg: 'ES256', kid: key.jwk['kid'], ...header }),
  };
}
