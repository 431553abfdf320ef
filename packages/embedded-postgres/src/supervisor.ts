import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { errorMessage } from './own-file.js';
import { freePort, LOOPBACK, type Address } from './address.js';
import { refuseSpecialFiles } from './cluster.js';
import { claim, takeOver } from './ownership.js';
import { signalPostmaster } from './postmaster.js';
import { startServer, type Server } from './server.js';
import type { StoppedCluster } from './provision.js';
import { hasRoomForSocket, removeSocketOf, SocketDirectory } from './socket-directory.js';

const START_TIMEOUT_MS = 3000;
const RETRY_MS = 100;
/** For a server that has just started, on a slow machine. */
const CLAIM_TIMEOUT_MS = 20_000;
const LOOK_AFTER_SOCKET_MS = 2000;

export interface Cluster extends StoppedCluster {
  readonly password: string;
  /** As in `EmbeddedPostgresOptions`. */
  readonly socketPlaces?: readonly string[] | undefined;
}

/** Runs one PostgreSQL on the cluster from `start` to `stop`, as its only owner. Restarts a lost server at its address. */
export class Supervisor {
  private server?: Server;
  private owner: Client | undefined;
  private socket: SocketDirectory | undefined;
  private looking?: NodeJS.Timeout;
  private watching?: Promise<void>;
  private stopping = false;
  /** Kills a server that is not ready yet. */
  private readonly starting = new AbortController();

  constructor(
    private readonly cluster: Cluster,
    private readonly log: (line: string) => void,
  ) {}

  /** @returns its address: a socket for its account and root only, or else loopback */
  async start(): Promise<Address> {
    process.once('exit', this.signalStop);
    try {
      const { path, account, socketPlaces } = this.cluster;
      this.socket = SocketDirectory.make(path, account, socketPlaces);
      if (!this.socket && process.platform !== 'win32') {
        this.log('embedded PostgreSQL: there is no place for a socket, so it listens on 127.0.0.1');
      }
      if (this.socket && !hasRoomForSocket(path)) {
        this.log(
          `embedded PostgreSQL: the path of ${path} is too long for a socket, so a backup may need a stop of the service`,
        );
      }
      const address = await this.bringUp();
      this.socket?.removeOthers();
      this.watching = this.watch(address);
      this.lookAfterSocket();
      return address;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.starting.abort();
    await this.takeDown();
    await this.watching;
    await this.takeDown(); // a restart may have started another server
    clearInterval(this.looking);
    this.socket?.remove();
    process.off('exit', this.signalStop);
  }

  /** @param tcp address if there is no socket; by default a free port */
  private async bringUp(tcp?: Address): Promise<Address> {
    if (!this.server?.running()) this.server = await this.startServer(tcp);
    this.owner = await claim(this.server.address, this.cluster.password, CLAIM_TIMEOUT_MS);
    if (!this.owner) throw new Error(`another service has just claimed the database in ${this.cluster.path}`);
    return this.server.address;
  }

  /** Retries: another program may take the port, and processes of a killed server take a moment to end. */
  private async startServer(tcp?: Address): Promise<Server> {
    const { path, password, binaries, account } = this.cluster;
    const sockets = this.socket && hasRoomForSocket(path) ? [path] : [];
    const deadline = Date.now() + START_TIMEOUT_MS;
    for (;;) {
      await takeOver(path, password, binaries, this.log);
      removeSocketOf(path, account);
      refuseSpecialFiles(path);
      try {
        const address = this.socket?.open() ?? tcp ?? { host: LOOPBACK, port: await freePort() };
        return await startServer({ ...this.cluster, ...address, sockets, signal: this.starting.signal });
      } catch (error) {
        if (this.stopping || Date.now() > deadline) throw error;
      }
      await delay(RETRY_MS);
    }
  }

  /** Stops a server without its socket file, which a cleaner of temporary files may have removed; it is then restarted. */
  private lookAfterSocket(): void {
    this.looking = setInterval(() => {
      if (this.owner && this.socket?.hasSocket() === false) this.server?.stop().catch(() => undefined);
    }, LOOK_AFTER_SOCKET_MS).unref();
  }

  /** The owner's connection ends with the server, and if PostgreSQL resets itself after a crash of a backend. */
  private async watch(address: Address): Promise<void> {
    while (!this.stopping) {
      const owner = this.owner;
      if (owner) await new Promise((resolve) => void owner.once('end', resolve));
      this.owner = undefined;
      if (this.stopping) return;
      await delay(RETRY_MS); // until the end of the process or of the reset
      try {
        await this.bringUp(address);
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

  /** For an end of the process without `stop`, if the operating system does not stop the server. */
  private readonly signalStop = (): void => {
    this.starting.abort();
    if (this.server?.running()) signalPostmaster(this.server.pid, 'INT', this.cluster.binaries.pgCtl);
  };
}
