import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { roomWithin } from '../../../src/http/open-files.js';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import { isFull } from '../../support/proof.js';
import { signIn } from '../../support/sign-in.js';
import { descriptorLimit, insertSessions, OTHER_PROCESSORS, pin, unpin } from '../../support/storm.js';
import { StubProvider } from '../../support/stub-provider.js';
import { Instance } from '../../soak/instance.js';
import { manyAtOnce } from './limits.js';
import { Refreshes } from './refreshes.js';
import { inRounds, type Round } from './rounds.js';

export const SERVICE_KEY = 'a-service-key-of-more-than-thirty-two-characters';
/** Descriptors: for refreshes, connections of the disturbances before, and sockets that are still closing. */
const SPARE = 500;
/** As many as the limit of open files allows. */
export const SOCKETS = isFull ? Math.min(20_000, roomWithin(descriptorLimit(), 10).sockets - SPARE) : 20;
/** Long enough that each has some collections of V8's old generation, the quiet one too: a single one is the slowest percent of a few seconds. */
export const WINDOW_MS = isFull ? 20_000 : 500;
const PER_SECOND = isFull ? 200 : 50;
/** Until a disturbance is at its height, and what it calls is compiled, too. */
const SETTLE_MS = isFull ? 5000 : 25;
/** Until the heap has its size, and what is called often is compiled. */
const WARM_MS = isFull ? 30_000 : 300;
const USERS = 2000;

/** What disturbs, until it is ended. */
export interface Disturbance {
  readonly end: () => Promise<unknown>;
}

/** A service with a processor of its own, whose users refresh at a steady rate, while somebody else disturbs. */
export class Scene {
  private readonly directory = mkdtempSync(join(tmpdir(), 'latchkey-neighbours-'));
  private readonly ends: (() => unknown)[] = [];
  private addresses = 0;

  private constructor(
    private readonly database: TestDatabase,
    readonly stub: StubProvider,
    /** One for each user. */
    readonly refreshTokens: readonly string[],
  ) {}

  service!: Instance;
  refreshes!: Refreshes;

  static async begin(): Promise<Scene> {
    const database = await createDatabase();
    const comeBack = isFull ? await leaveFirstProcessor(database.url) : undefined;
    const stub = await StubProvider.start();
    const tokens = await insertSessions(database.url, isFull ? Math.max(SOCKETS, USERS) : SOCKETS);
    const scene = new Scene(database, stub, tokens);
    if (comeBack) scene.atEnd(comeBack);
    try {
      scene.service = await scene.start(0);
      scene.refreshes = await scene.refresh(portOf(scene.service));
      return scene;
    } catch (error) {
      await scene.end();
      throw error;
    }
  }

  /** Another instance. @param processor that its main thread has alone; V8's and libuv's threads run where there is room */
  async start(processor: number): Promise<Instance> {
    // With nothing of a test in it: each answer that is told to Jest would be a part of what is measured.
    const started = await Instance.start(`instance-${processor}`, this.directory, {
      ...this.stub.env(),
      NODE_ENV: 'production', // what it logs is not made pretty
      REDIRECT_URIS: 'https://app.example/callback',
      DATABASE_URL: this.database.url,
      SECRET_KEY: '5e'.repeat(32),
      PUBLIC_URL: 'http://localhost:3000',
      TRUST_PROXY: 'loopback',
      RATE_LIMIT: 'on',
      SERVICE_KEYS: SERVICE_KEY,
      LOG_LEVEL: 'info',
      DEMO_ENABLED: 'false',
    });
    this.atEnd(() => started.child.kill('SIGKILL'));
    if (isFull) unpin(started.child.pid!); // it has come to life where this process is
    if (isFull && !pin(started.child.pid!, String(processor), { mainThreadOnly: true })) {
      throw new Error('the service is to have a processor of its own: that takes two, and taskset');
    }
    return started;
  }

  /** Users who refresh at a steady rate at a port, warm. */
  async refresh(port: number): Promise<Refreshes> {
    const refreshes = new Refreshes();
    this.atEnd(() => refreshes.close());
    await refreshes.start(port, this.refreshTokens.slice(0, USERS), PER_SECOND, WARM_MS);
    return refreshes;
  }

  atEnd(end: () => unknown): void {
    this.ends.push(end);
  }

  async end(): Promise<void> {
    for (const end of this.ends.toReversed()) end();
    rmSync(this.directory, { recursive: true, force: true });
    await this.stub.close();
    await this.database.drop();
  }

  /** Quiet, disturbed, quiet; some times. */
  during(disturb: () => Promise<Disturbance>): Promise<Round[]> {
    return inRounds(async () => {
      const before = await this.refreshes.during(WINDOW_MS);
      const disturbance = await disturb();
      await delay(SETTLE_MS);
      const during = await this.refreshes.during(WINDOW_MS);
      await disturbance.end();
      await delay(WINDOW_MS / 20);
      return [before, during, await this.refreshes.during(WINDOW_MS)];
    });
  }

  /** An address for which nothing has been counted yet. */
  newAddress(): string {
    this.addresses++;
    return `10.64.${this.addresses >> 8}.${this.addresses & 255}`;
  }

  /** Begins a sign-in. @returns its state; undefined where that was refused */
  async authorize(from: string): Promise<string | undefined> {
    const url = `${this.service.url}/oauth2/authorize?provider=stub`;
    const answer = await fetch(url, { headers: { 'X-Forwarded-For': from } });
    return ((await answer.json()) as { state?: string }).state;
  }

  exchange(state: string, code: string, from: string): Promise<Response> {
    return this.post('/oauth2/token', { code, state }, from);
  }

  /** Somebody's id to whom events can be pushed. */
  async userId(): Promise<string> {
    return (await signIn(this.service.url, randomUUID())).user_id;
  }

  /** One of each user, as many as there are to be sockets. */
  accessTokens(): Promise<string[]> {
    return manyAtOnce(SOCKETS, 64, async (i) => {
      const body = { refresh_token: this.refreshTokens[i] };
      const answer = await this.post('/oauth2/refresh', body, this.newAddress());
      return ((await answer.json()) as { access_token: string }).access_token;
    });
  }

  private post(path: string, body: object, from: string): Promise<Response> {
    return fetch(this.service.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': from },
      body: JSON.stringify(body),
    });
  }
}

/** This process, and what PostgreSQL starts from now on, have the others. @returns undoes it */
async function leaveFirstProcessor(databaseUrl: string): Promise<() => void> {
  const client = new Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
  await client.end();
  const [postmaster] = readFileSync(join(rows[0]!.data_directory, 'postmaster.pid'), 'latin1').split('\n');
  const ours = [process.pid, Number(postmaster)];
  for (const pid of ours) pin(pid, OTHER_PROCESSORS);
  return () => ours.forEach(unpin);
}

export function portOf({ url }: Instance): number {
  return Number(new URL(url).port);
}

/** Some at a time do the same again and again, until told to end; they begin spread over a time. */
export function again(atOnce: number, work: () => Promise<unknown>, withinMs = 0): Disturbance {
  const over = new AbortController();
  const one = async (i: number): Promise<void> => {
    await delay((withinMs * i) / atOnce);
    while (!over.signal.aborted) await work();
  };
  const all = Promise.all(Array.from({ length: atOnce }, (_, i) => one(i)));
  return {
    end: () => {
      over.abort();
      return all;
    },
  };
}
