import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { createDatabase, type TestDatabase } from './database.js';
import { startServiceProcess, type ServiceProcess } from './service-process.js';
import { StubProvider } from './stub-provider.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const PUBLIC_URL = 'http://latchkey.test'; // the same for all instances, since it is in the tokens

export interface Pushed {
  readonly status: number;
  readonly body: { id?: string; offset?: number | null; online?: boolean; error?: string };
}

/** Several instances of the compiled service, each a process of its own, with one database and one provider. */
export class Cluster {
  static readonly serviceKey = SERVICE_KEY;
  readonly instances: ServiceProcess[] = [];
  /** Every start so far: those that succeed must be ended. */
  private readonly starts: Promise<ServiceProcess>[] = [];

  private constructor(
    private readonly provider: StubProvider,
    readonly database: TestDatabase,
  ) {}

  static async create(): Promise<Cluster> {
    return new Cluster(await StubProvider.start(), await createDatabase());
  }

  /** Starts one more instance. */
  async start(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const start = startServiceProcess({
      ...this.provider.env(),
      DATABASE_URL: this.database.url,
      PUBLIC_URL,
      SERVICE_KEYS: SERVICE_KEY,
      ...env,
    });
    this.starts.push(start);
    const instance = await start;
    this.instances.push(instance);
    return instance;
  }

  async push({ url }: { url: string }, body: object): Promise<Pushed> {
    const headers = { Authorization: `Bearer ${SERVICE_KEY}`, 'Content-Type': 'application/json' };
    // A new connection: one that was kept open may be closed at the moment when it is used again.
    const call = httpRequest(`${url}/push`, { method: 'POST', headers, agent: false });
    call.end(JSON.stringify(body));
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    return { status: response.statusCode!, body: (await json(response)) as Pushed['body'] };
  }

  async readiness({ url }: { url: string }): Promise<unknown[]> {
    const response = await fetch(`${url}/health/ready`);
    return [response.status, await response.json()];
  }

  /** Leaves none running, also of those that were still starting when another one failed. */
  async close(): Promise<void> {
    const starts = await Promise.allSettled(this.starts);
    const started = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    await Promise.all(started.map((instance) => instance.end('SIGKILL')));
    await this.database.drop();
    await this.provider.close();
  }
}
