import fc from 'fast-check';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { request } from 'undici';
import { AuditStore } from '../../src/audit/audit.store.js';
import { Clock } from '../../src/database/clock.js';
import { Sql } from '../../src/database/statements/sql.js';
import { LastSeen } from '../../src/device/last-seen.js';
import { Removal } from '../../src/removal/removal.js';
import type { KeyLife } from '../../src/token/keys/key-life.js';
import { KeyService } from '../../src/token/keys/key.service.js';
import { KeyStore, listKeys } from '../../src/token/keys/key.store.js';
import { isDatabaseAway } from '../../src/errors/database-error.js';
import { startTestService, type TestService } from '../../test/support/service.js';
import { codeProviders, type CodeProviders } from './code-providers.js';
import { StoppedClock } from './stopped-clock.js';

export const ISSUER = 'http://localhost:3000';
export const SERVICE_KEY = 'service-key-of-the-model-of-sessions';

/** Which instance serves a call. */
export type At = 0 | 1;

export interface Call {
  readonly bearer?: string;
  readonly headers?: Record<string, string>;
  readonly body?: object;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Record<string, unknown>;
}

/** Two instances of the service on one database, two providers, and a clock that they all live by. */
export class World {
  /** How often each command was run. */
  readonly counts = new Map<string, number>();
  /** Milliseconds that the clock was turned by. */
  distance = 0;
  /** The number of the sequence. */
  run = 0;
  private turns = 0;
  private sequence: Promise<unknown> = Promise.resolve();

  /** Two, once it has started. */
  readonly instances: TestService[] = [];

  private constructor(
    readonly clock: StoppedClock,
    readonly providers: CodeProviders,
  ) {}

  static async start(): Promise<World> {
    const world = new World(await StoppedClock.start(), await codeProviders());
    try {
      await world.startInstance();
      await world.startInstance();
      await delay(50); // a reading of the keys that was under way
      await world.timePasses();
      return world;
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  alone(sequence: () => Promise<void>): Promise<void> {
    const mine = this.sequence.then(sequence);
    this.sequence = mine.catch(() => undefined); // its caller is told
    return mine;
  }

  private async startInstance(): Promise<void> {
    const instance = await startTestService({
      ...this.providers.env,
      PUBLIC_URL: ISSUER,
      SERVICE_KEYS: SERVICE_KEY,
      LOG_LEVEL: 'warn',
      DATABASE_URL: this.clock.databaseUrl,
    });
    this.instances.push(instance);
    const { app } = instance;
    // What an instance measures every ten seconds (docs/security-model.md#protection-of-a-session), without
    // the wait.
    Object.assign(app.get(Clock), { now: () => this.clock.now() });
    // What it does twice a second, and every five, is done whenever the clock is turned.
    clearInterval(app.get(LastSeen)['timer']);
    clearTimeout(app.get(KeyService)['nextReading']);
  }

  /**
   * What instances do from time to time, each second or each minute; for rotation and removal one is enough.
   */
  private async timePasses(): Promise<void> {
    const { app } = this.instances[this.turns++ % 2]!;
    await unlessBusy(app.get(KeyStore).rotateIfDue());
    await app.get(Removal).run();
    await this.readKeys();
  }

  /** Each instance reads the keys, as it does twice a second. */
  async readKeys(): Promise<void> {
    for (const { app } of this.instances) await unlessBusy(app.get(KeyService)['read']());
  }

  /** Devices that were used are noted, as they are every five seconds. */
  async noteUses(): Promise<void> {
    for (const { app } of this.instances) await app.get(LastSeen).write();
    this.refuseIfBusy();
  }

  /** Turns the clock, never back, and lets instances do what is due by then. */
  async turnTo(time: number): Promise<void> {
    await this.noteUses();
    this.distance += time - this.clock.now();
    await this.clock.turnTo(time);
    await this.timePasses();
    this.refuseIfBusy();
  }

  /** What a name means in this sequence only. */
  nameOf(name: string): string {
    return `${name}-${this.run}`;
  }

  /** All that are stored, the newest first. */
  keys(): Promise<KeyLife[]> {
    return unlessBusy(listKeys(this.instances[0]!.app.get(Sql)));
  }

  /** Operators withdraw a key once in years, so the service never forgets one; here there would be thousands. */
  async forgetOtherKeys(kids: readonly string[]): Promise<void> {
    await this.instances[0]!.app.get(DataSource).query('DELETE FROM signing_keys WHERE kid <> ALL ($1)', [
      kids,
    ]);
    await this.readKeys();
  }

  /** What the command `npm run keys` works with. */
  keyStore(at: At): KeyStore {
    const { app, settings } = this.instances[at]!;
    return new KeyStore(app.get(DataSource), app.get(AuditStore), settings);
  }

  private refuseIfBusy(): void {
    const lines = this.instances.flatMap(({ log }) => (log as string[]).splice(0));
    if (lines.some((line) => /could not be (?:removed|written)/.test(line))) fc.pre(false);
  }

  async call(
    at: At,
    method: string,
    path: string,
    { bearer, headers: more, body }: Call = {},
  ): Promise<Answer> {
    const headers = {
      ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
      ...(body && { 'Content-Type': 'application/json' }),
      ...more,
    };
    const sent = body ? { body: JSON.stringify(body) } : {};
    // No `fetch`: it sends a User-Agent, which would be the device's.
    const answer = await request(this.instances[at]!.url + path, { method, headers, ...sent });
    const text = (await answer.body.text()) || '{}';
    const { statusCode: status, headers: received } = answer;
    if (status === 500 && received['retry-after'] !== undefined) fc.pre(false);
    return { status, headers: received, body: JSON.parse(text) as Record<string, unknown> };
  }

  async stop(): Promise<void> {
    await this.sequence;
    for (const instance of this.instances.toReversed()) await instance.close();
    await this.providers.stop();
    await this.clock.stop();
  }
}

/**
 * A machine that is too busy for the limits of the service's statements (`server_error` with `Retry-After`)
 * proves nothing: the sequence is given up, and counted as such. @throws fast-check's PreconditionFailure
 */
export async function unlessBusy<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (isDatabaseAway(error)) fc.pre(false);
    throw error;
  }
}
