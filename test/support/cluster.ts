import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { createDatabase, type TestDatabase } from './database.js';
import { SERVICE_KEY, startServiceProcess, type ServiceProcess } from './service-process.js';
import { StubProvider } from './stub-provider.js';

const PUBLIC_URL = 'http://latchkey.test'; // equal on all instances, since tokens contain it

export interface Pushed {
  readonly status: number;
  readonly body: { id?: string; offset?: number | null; online?: boolean; error?: string };
}

/** Instances of the compiled service as processes, with one database and one provider. */
export class Cluster {
  readonly instances: ServiceProcess[] = [];
  /** All starts, also pending ones: `close` ends their processes. */
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

  /** Ends all instances, also if some are still starting. */
  async close(): Promise<void> {
    const starts = await Promise.allSettled(this.starts);
    const started = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    await Promise.all(started.map((instance) => instance.end('SIGKILL')));
    await this.database.close();
    await this.provider.close();
  }
}
