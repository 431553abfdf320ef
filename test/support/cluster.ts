import { createDatabase, type TestDatabase } from './database.js';
import { startServiceProcess, type ServiceProcess } from './service-process.js';
import { StubProvider } from './stub-provider.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const PUBLIC_URL = 'http://latchkey.test'; // one for all instances: it stands in the tokens

export interface Pushed {
  readonly status: number;
  readonly body: { id?: string; offset?: number | null; online?: boolean; error?: string };
}

/** Several instances of the compiled service, each a process of its own, with one database and one provider. */
export class Cluster {
  readonly instances: ServiceProcess[] = [];

  private constructor(
    private readonly provider: StubProvider,
    readonly database: TestDatabase,
  ) {}

  static async create(): Promise<Cluster> {
    return new Cluster(await StubProvider.start(), await createDatabase());
  }

  /** Starts one more instance. */
  async start(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const instance = await startServiceProcess({
      ...this.provider.env(),
      DATABASE_URL: this.database.url,
      PUBLIC_URL,
      SERVICE_KEYS: SERVICE_KEY,
      ...env,
    });
    this.instances.push(instance);
    return instance;
  }

  async push({ url }: { url: string }, body: object): Promise<Pushed> {
    const response = await fetch(`${url}/push`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${SERVICE_KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Pushed['body'] };
  }

  async readiness({ url }: { url: string }): Promise<unknown[]> {
    const response = await fetch(`${url}/health/ready`);
    return [response.status, await response.json()];
  }

  async close(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.end('SIGKILL')));
    await this.database.drop();
    await this.provider.close();
  }
}
