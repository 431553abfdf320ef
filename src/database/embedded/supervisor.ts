import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { errorMessage } from '../error-facts.js';
import type { Account } from './account.js';
import type { Binaries } from './binaries.js';
import { freePort } from './free-port.js';
import { claim, takeOver } from './ownership.js';
import { signalPostmaster } from './postmaster.js';
import { startServer, type Server } from './server.js';

const START_PATIENCE_MS = 3000;
const RETRY_MS = 100;

export interface Cluster {
  readonly path: string;
  readonly password: string;
  readonly account: Account | undefined;
  readonly binaries: Binaries;
}

/**
 * Keeps one PostgreSQL running on the cluster, as its only owner, from `start` to `stop`. A server that ends by itself
 * is started again on the same port, so that the service's pool recovers.
 */
export class Supervisor {
  private server?: Server;
  private owner: Client | undefined;
  private watching?: Promise<void>;
  private stopping = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly log: (line: string) => void,
  ) {}

  /** @returns the port of 127.0.0.1 that it listens on */
  async start(): Promise<number> {
    process.once('exit', this.signalStop);
    try {
      const port = await this.bringUp(freePort);
      this.watching = this.watch(port);
      return port;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Resolves when no process is left. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.takeDown();
    await this.watching;
    await this.takeDown(); // what a restart has brought up meanwhile
    process.off('exit', this.signalStop);
  }

  private async bringUp(choosePort: () => Promise<number>): Promise<number> {
    if (!this.server?.running()) this.server = await this.startServer(choosePort);
    this.owner = await claim(this.server.port, this.cluster.password);
    if (!this.owner) throw new Error(`another service has just claimed the database in ${this.cluster.path}`);
    return this.server.port;
  }

  /** Tries again for a while: a port may be taken, and processes of a killed server take a moment to end. */
  private async startServer(choosePort: () => Promise<number>): Promise<Server> {
    const { path, password, binaries } = this.cluster;
    const deadline = Date.now() + START_PATIENCE_MS;
    for (;;) {
      await takeOver(path, password, binaries, this.log);
      try {
        return await startServer({ ...this.cluster, port: await choosePort() });
      } catch (error) {
        if (this.stopping || Date.now() > deadline) throw error;
      }
      await delay(RETRY_MS);
    }
  }

  /** The owner's connection ends with the server, and also when PostgreSQL resets itself after a crash of a backend. */
  private async watch(port: number): Promise<void> {
    while (!this.stopping) {
      const owner = this.owner;
      if (owner) await new Promise((resolve) => void owner.once('end', resolve));
      this.owner = undefined;
      if (this.stopping) return;
      await delay(RETRY_MS); // until the end of the process is known, or the reset done
      try {
        await this.bringUp(() => Promise.resolve(port));
        this.log('embedded PostgreSQL: its server was lost, and is back');
      } catch (error) {
        this.log(`embedded PostgreSQL: its server was lost; trying to get it back: ${errorMessage(error)}`);
      }
    }
  }

  private async takeDown(): Promise<void> {
    this.owner?.end().catch(() => undefined); // not awaited: a frozen server never answers
    if (this.server?.running()) await this.server.stop();
  }

  /** For an end of the process without `stop`, where the operating system does not pass it on. */
  private readonly signalStop = (): void => {
    if (this.server?.running()) signalPostmaster(this.server.pid, 'INT', this.cluster.binaries.pgCtl);
  };
}
