import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { errorMessage } from './error-facts.js';
import { freeLoopback, type Address } from './address.js';
import { refuseSpecialFiles } from './cluster.js';
import { claim, takeOver } from './ownership.js';
import { signalPostmaster } from './postmaster.js';
import { startServer, type Server } from './server.js';
import type { StoppedCluster } from './single-user.js';
import { SocketDirectory } from './socket-directory.js';

const START_PATIENCE_MS = 3000;
const RETRY_MS = 100;
/** For its own server, which has just come up: a slow machine takes its time. */
const CLAIM_PATIENCE_MS = 20_000;
const LOOK_AFTER_SOCKET_MS = 2000;

export interface Cluster extends StoppedCluster {
  readonly password: string;
  /** As in `EmbeddedPostgresOptions`. */
  readonly socketPlaces?: readonly string[] | undefined;
}

/**
 * Keeps one PostgreSQL running on the cluster, as its only owner, from `start` to `stop`. A server that ends by itself
 * is started again at the same address, so that the service's pool recovers.
 */
export class Supervisor {
  private server?: Server;
  private owner: Client | undefined;
  private socket: SocketDirectory | undefined;
  private looking?: NodeJS.Timeout;
  private watching?: Promise<void>;
  private stopping = false;
  /** Aborted by `stop`, and by the end of the process: a server that is not ready yet is killed. */
  private readonly starting = new AbortController();

  constructor(
    private readonly cluster: Cluster,
    private readonly log: (line: string) => void,
  ) {}

  /** @returns where it listens: on a socket that only its account and root can reach; else on loopback */
  async start(): Promise<Address> {
    process.once('exit', this.signalStop);
    try {
      const { path, account, socketPlaces } = this.cluster;
      this.socket = SocketDirectory.make(path, account, socketPlaces);
      if (!this.socket && process.platform !== 'win32') {
        this.log('embedded PostgreSQL: there is no place for a socket, so it listens on 127.0.0.1');
      }
      const address = await this.bringUp(freeLoopback);
      this.socket?.removeOthers();
      this.watching = this.watch(address);
      this.lookAfterSocket();
      return address;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Resolves when no process is left. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.starting.abort();
    await this.takeDown();
    await this.watching;
    await this.takeDown(); // a restart may have brought up another server meanwhile
    clearInterval(this.looking);
    this.socket?.remove();
    process.off('exit', this.signalStop);
  }

  /** @param chooseTcp chooses the address on loopback, where there is no socket */
  private async bringUp(chooseTcp: () => Promise<Address>): Promise<Address> {
    if (!this.server?.running()) this.server = await this.startServer(chooseTcp);
    this.owner = await claim(this.server.address, this.cluster.password, CLAIM_PATIENCE_MS);
    if (!this.owner) throw new Error(`another service has just claimed the database in ${this.cluster.path}`);
    return this.server.address;
  }

  /** Tries again for a while: a port may be taken, and processes of a killed server take a moment to end. */
  private async startServer(chooseTcp: () => Promise<Address>): Promise<Server> {
    const { path, password, binaries } = this.cluster;
    const deadline = Date.now() + START_PATIENCE_MS;
    for (;;) {
      await takeOver(path, password, binaries, this.log);
      refuseSpecialFiles(path);
      try {
        const address = this.socket?.open() ?? (await chooseTcp());
        return await startServer({ ...this.cluster, ...address, signal: this.starting.signal });
      } catch (error) {
        if (this.stopping || Date.now() > deadline) throw error;
      }
      await delay(RETRY_MS);
    }
  }

  /** New clients cannot reach a server whose socket has been cleaned away: it is stopped, and so started again. */
  private lookAfterSocket(): void {
    this.looking = setInterval(() => {
      if (this.owner && this.socket?.hasSocket() === false) this.server?.stop().catch(() => undefined);
    }, LOOK_AFTER_SOCKET_MS).unref();
  }

  /** The owner's connection ends with the server, and also when PostgreSQL resets itself after a crash of a backend. */
  private async watch(address: Address): Promise<void> {
    while (!this.stopping) {
      const owner = this.owner;
      if (owner) await new Promise((resolve) => void owner.once('end', resolve));
      this.owner = undefined;
      if (this.stopping) return;
      await delay(RETRY_MS); // until the end of the process is known, or the reset done
      try {
        await this.bringUp(() => Promise.resolve(address));
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

  /** For an end of the process without `stop`, where the operating system does not stop the server. */
  private readonly signalStop = (): void => {
    this.starting.abort();
    if (this.server?.running()) signalPostmaster(this.server.pid, 'INT', this.cluster.binaries.pgCtl);
  };
}
