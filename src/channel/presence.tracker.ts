import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { PresenceStore, type UserDevice } from './presence.store.js';

const WRITE_EVERY_MS = 1000;
const HEARTBEAT_EVERY_MS = 10_000;
const LARGEST_WRITE = 1000;

/** Writes to the database which devices are connected to this instance: once a second, in batches. */
@Injectable()
export class PresenceTracker implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(PresenceTracker.name);
  private readonly instanceId = randomUUID();
  private readonly connected = new Map<string, UserDevice & { sockets: number }>();
  /** Devices that were connected or disconnected since the last write. */
  private readonly changed = new Map<string, UserDevice>();
  private readonly timers: NodeJS.Timeout[] = [];
  private writing: Promise<void> = Promise.resolve();

  constructor(private readonly store: PresenceStore) {}

  async onModuleInit(): Promise<void> {
    await this.store.enter(this.instanceId);
    this.timers.push(
      setInterval(() => this.queue(() => this.write()), WRITE_EVERY_MS).unref(),
      setInterval(() => this.queue(() => this.heartbeat()), HEARTBEAT_EVERY_MS).unref(),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.timers.forEach(clearInterval);
    await this.writing;
    await this.store.clear(this.instanceId).catch(() => undefined); // without it, other instances sweep later
  }

  arrived({ userId, deviceId }: UserDevice): void {
    const key = keyOf(userId, deviceId);
    const device = this.connected.get(key) ?? { userId, deviceId, sockets: 0 };
    if (++device.sockets === 1) this.changed.set(key, device);
    this.connected.set(key, device);
  }

  left({ userId, deviceId }: UserDevice): void {
    const key = keyOf(userId, deviceId);
    const device = this.connected.get(key);
    if (!device || --device.sockets > 0) return;
    this.connected.delete(key);
    this.changed.set(key, device);
  }

  /** Runs one write at a time, so that the last state of a device is the last one written. */
  private queue(work: () => Promise<void>): void {
    this.writing = this.writing.then(work).catch((error: unknown) => this.logger.debug({ err: error }));
  }

  /** A batch that fails goes to the end of the queue, so it does not hold up the others. */
  private async write(): Promise<void> {
    const changed = [...this.changed];
    for (let at = 0; at < changed.length; at += LARGEST_WRITE) {
      const batch = changed.slice(at, at + LARGEST_WRITE);
      for (const [key] of batch) this.changed.delete(key);
      try {
        for (const online of [true, false]) {
          const inState = batch.filter(([key]) => this.connected.has(key) === online);
          const devices = inState.map(([, device]) => device);
          await this.store.write(this.instanceId, online, devices);
        }
      } catch (error) {
        for (const [key, device] of batch) this.changed.set(key, device);
        throw error;
      }
    }
  }

  private async heartbeat(): Promise<void> {
    if (!(await this.store.heartbeat(this.instanceId))) {
      await this.store.enter(this.instanceId);
      for (const [key, device] of this.connected) this.changed.set(key, device);
    }
    await this.store.sweep();
  }
}

function keyOf(userId: string, deviceId: string | null): string {
  return `${userId}/${deviceId}`;
}
