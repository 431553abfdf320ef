import type { Test } from 'supertest';
import { bearer, signIn, type Tokens } from './sign-in.js';
import { query } from './database.js';
import { Endings } from './endings.js';
import { SERVICE_KEY, startTestService, type TestService } from './service.js';
import { SocketClient } from './socket-client.js';
import type { StubProvider } from './stub-provider.js';
import { useService } from './use.js';

/** A service in this process, its provider, and the sockets that tests open. */
export class Channel {
  readonly service: TestService;
  private readonly provider: StubProvider;
  private readonly endings = new Endings();

  private constructor(env: Record<string, string>) {
    ({ provider: this.provider, service: this.service } = useService(() => ({
      SERVICE_KEYS: SERVICE_KEY,
      ...env,
    })));
    afterEach(() => this.endings.run());
  }

  /** Starts it before the tests of a block, and closes it after them; ends sockets and other instances after each. */
  static around(env: Record<string, string> = {}): Channel {
    return new Channel(env);
  }

  get url(): string {
    return this.service.url;
  }

  /** Another service, with its own database unless that is given; closed after the test. */
  async another(env: Record<string, string> = {}): Promise<TestService> {
    const settings = { ...this.provider.env(), SERVICE_KEYS: SERVICE_KEY, ...env };
    return this.endings.after(await startTestService(settings), (one) => one.close());
  }

  open(auth: object, options = {}, { url }: { url: string } = this): SocketClient {
    return this.endings.after(SocketClient.open(url, auth, options), (one) => one.close());
  }

  async connect({ access_token: token }: Tokens, options = {}, at = this.service): Promise<SocketClient> {
    const client = this.open({ token }, options, at);
    await client.ready();
    return client;
  }

  signIn(user?: string, body?: object): Promise<Tokens> {
    return signIn(this.url, user, body);
  }

  push(body: object, headers = {}, key = SERVICE_KEY): Test {
    return bearer(this.url, key).post('/push', body).set(headers);
  }

  sql<Row extends Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return query<Row>(this.service.databaseUrl, text, values);
  }
}
