import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Background } from '../../../platform/background.js';
import { DeviceRequestStore } from './device-request.store.js';

/** Polls that wait on an instance; later ones are answered at once. */
const MOST_WAITING = 1000;
/** Milliseconds. Clients give up after 3.5 s (openid-client 5) or more. */
const LONGEST_WAIT = 2000;

/** Holds polls of open requests back for a moment, in which a device learns a decision at once. */
@Injectable()
export class DeviceDecisions implements BeforeApplicationShutdown {
  private readonly waits = new Map<string, Set<() => void>>();
  private count = 0;
  private isStopping = false;

  constructor(
    private readonly requests: DeviceRequestStore,
    background: Background,
  ) {
    background.repeat('read-device-decisions', () => this.read());
  }

  /** @returns after a decision, LONGEST_WAIT, or the end of the connection; at once if many polls wait */
  async wait(deviceCodeHash: Buffer, closed: AbortSignal): Promise<void> {
    if (this.count >= MOST_WAITING || this.isStopping || closed.aborted) return;
    const key = deviceCodeHash.toString('hex');
    const waiting = this.waits.get(key) ?? new Set();
    this.waits.set(key, waiting);
    this.count++;
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    const timer = setTimeout(release, LONGEST_WAIT);
    closed.addEventListener('abort', release, { once: true });
    waiting.add(release);
    await released;
    clearTimeout(timer);
    this.count--;
    waiting.delete(release);
    if (waiting.size === 0) this.waits.delete(key);
  }

  beforeApplicationShutdown(): void {
    this.isStopping = true;
    for (const key of this.waits.keys()) this.release(key);
  }

  private async read(): Promise<void> {
    if (this.waits.size === 0) return;
    const hashes = [...this.waits.keys()].map((key) => Buffer.from(key, 'hex'));
    for (const decided of await this.requests.findDecided(hashes)) this.release(decided.toString('hex'));
  }

  private release(key: string): void {
    for (const release of this.waits.get(key) ?? []) release();
  }
}
