import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Background } from '../../background.js';
import { DeviceRequestStore, INTERVAL } from './device-request.store.js';

/** Polls that an instance holds back; later ones are answered at once. */
const MOST_HELD = 1000;

/**
 * Holds polls of open requests back until a person decides, for at most one interval: so a device learns it
 * within a second, and not with its next poll.
 */
@Injectable()
export class DeviceDecisions implements BeforeApplicationShutdown {
  private readonly held = new Map<string, Set<() => void>>();
  private count = 0;
  private isStopping = false;

  constructor(
    private readonly requests: DeviceRequestStore,
    background: Background,
  ) {
    background.repeat('read-device-decisions', () => this.read());
  }

  /** @returns after a decision, an interval, or at once if many polls are held */
  async wait(deviceCodeHash: Buffer): Promise<void> {
    if (this.count >= MOST_HELD || this.isStopping) return;
    const key = deviceCodeHash.toString('hex');
    const waiting = this.held.get(key) ?? new Set();
    this.held.set(key, waiting);
    this.count++;
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    const timer = setTimeout(release, INTERVAL * 1000);
    waiting.add(release);
    await released;
    clearTimeout(timer);
    this.count--;
    waiting.delete(release);
    if (waiting.size === 0) this.held.delete(key);
  }

  beforeApplicationShutdown(): void {
    this.isStopping = true;
    for (const key of this.held.keys()) this.release(key);
  }

  private async read(): Promise<void> {
    if (this.held.size === 0) return;
    const hashes = [...this.held.keys()].map((key) => Buffer.from(key, 'hex'));
    for (const decided of await this.requests.findDecided(hashes)) this.release(decided.toString('hex'));
  }

  private release(key: string): void {
    for (const release of this.held.get(key) ?? []) release();
  }
}
