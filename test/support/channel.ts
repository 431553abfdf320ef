import type { Test } from 'supertest';
import { bearer, signIn, type Tokens } from './sign-in.js';
import { query } from './database.js';
import { startTestService, type TestService } from './service.js';
import { SocketClient } from './socket-client.js';
import { StubProvider } from './stub-provider.js';

export const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';

/** A service in this process, its provider, and the sockets that tests open. */
export class Channel {
  service!: TestService;
  private provider!: StubProvider;
  private readonly clients: SocketClient[] = [];
  private readonly others: TestService[] = [];

  /** Starts it before the tests of a block, and closes it after them; ends sockets and other instances after each. */
  static around(env: Record<string, string> = {}): Channel {
    const channel = new Channel();
    beforeAll(async () => {
      channel.provider = await StubProvider.start();
      channel.service = await channel.start(env);
    });
    afterEach(async () => {
      channel.clients.splice(0).forEach((client) => client.close());
      for (const service of channel.others.splice(0)) await service.close();
    });
    afterAll(async () => {
      await channel.service?.close();
      await channel.provider?.close();
    });
    return channel;
  }

  get url(): string {
    return this.service.url;
  }

  /** Another service, with its own database unless that is given; closed after the test. */
  async another(env: Record<string, string> = {}): Promise<TestService> {
    const service = await this.start(env);
    this.others.push(service);
    return service;
  }

  open(auth: object, options = {}, { url }: { url: string } = this): SocketClient {
    const client = SocketClient.open(url, auth, options);
    this.clients.push(client);
    return client;
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

  private start(env: Record<string, string>): Promise<TestService> {
    return startTestService({ ...this.provider.env(), SERVICE_KEYS: SERVICE_KEY, ...env });
  }
}
