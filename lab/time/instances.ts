import { request } from 'undici';
import { Background } from '../../src/platform/background.js';
import { Clock } from '../../src/platform/database/clock.js';
import { Removal } from '../../src/operations/removal/removal.js';
import { KeyService } from '../../src/token/keys/key.service.js';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { query } from '../../test/support/database.js';
import { startTestService, type TestService } from '../../test/support/service.js';
import { StubProvider } from '../../test/support/stub-provider.js';
import { StoppedClock } from './stopped-clock.js';

const ISSUER = 'http://localhost:3000';
export const SERVICE_KEY = 'service-key-of-the-experiment-with-time';

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Two instances on one database, whose clock the experiment sets. */
export class Instances {
  private readonly all: TestService[] = [];

  private constructor(
    readonly clock: StoppedClock,
    private readonly provider: StubProvider,
  ) {}

  static async start(): Promise<Instances> {
    const instances = new Instances(await StoppedClock.start(), await StubProvider.start());
    try {
      await instances.startOne();
      await instances.startOne();
      return instances;
    } catch (error) {
      await instances.stop();
      throw error;
    }
  }

  private async startOne(): Promise<void> {
    const { databaseUrl: DATABASE_URL, now } = this.clock;
    const env = { PUBLIC_URL: ISSUER, SERVICE_KEYS: SERVICE_KEY, RATE_LIMIT: 'off', DATABASE_URL };
    const service = await startTestService({ ...this.provider.env(), ...env });
    this.all.push(service);
    // An instance measures the database's clock every ten seconds; here there is no wait.
    Object.assign(service.app.get(Clock), { now });
    // What timers do follows each change of the clock (`turnTo`).
    for (const name of ['write-last-use', 'read-keys'] as const) await service.app.get(Background).stop(name);
  }

  async firstKey(): Promise<{ kid: string; firstUse: number }> {
    const found = 'SELECT kid, active_at FROM signing_keys';
    const [key] = await query<{ kid: string; active_at: Date }>(this.clock.databaseUrl, found);
    return { kid: key!.kid, firstUse: key!.active_at.getTime() };
  }

  async turnTo(time: number): Promise<void> {
    await this.clock.turnTo(time);
    const { app } = this.all[0]!;
    await app.get(KeyStore).rotateIfDue();
    await app.get(Removal).run();
    for (const one of this.all) await one.app.get(KeyService)['read']();
  }

  /** Not by `fetch`: it sends a User-Agent, which would be the device's. */
  async call(
    at: number,
    method: string,
    path: string,
    bearer?: string,
    body?: object,
    key?: string,
  ): Promise<Answer> {
    const headers = {
      ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
      ...(body && { 'Content-Type': 'application/json' }),
      ...(key !== undefined && { 'Idempotency-Key': key }),
    };
    const sent = body ? { body: JSON.stringify(body) } : {};
    const answer = await request(this.all[at]!.url + path, { method, headers, ...sent });
    const text = (await answer.body.text()) || '{}';
    return { status: answer.statusCode, body: JSON.parse(text) as Answer['body'] };
  }

  async stop(): Promise<void> {
    for (const service of this.all.toReversed()) await service.close();
    await this.provider.close();
    await this.clock.stop();
  }
}
