import { randomUUID } from 'node:crypto';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Background } from '../platform/background.js';
import { PresenceStore, type UserDevice } from './presence.store.js';

const LARGEST_WRITE = 1000;

/** Writes to the database which devices are connected to this instance: once a second, in batches. */
@Injectable()
export class PresenceTracker implements OnModuleInit, OnApplicationShutdown {
  private readonly instanceId = randomUUID();
  private readonly connected = new Map<string, UserDevice & { sockets: number }>();
  /** Devices that were connected or disconnected since the last write. */
  private readonly changed = new Map<string, UserDevice>();
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: PresenceStore,
    private readonly background: Background,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.store.enter(this.instanceId);
    this.background.repeat('write-presence', () => this.queue(() => this.write()));
    this.background.repeat('renew-presence', () => this.queue(() => this.heartbeat()));
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.background.stop('write-presence'), this.background.stop('renew-presence')]);
    await this.store.clear(this.instanceId).catch(() => undefined); // without it, other instances sweep later
  }

  arrived({ userId, deviceId }: UserDevice): void {
    const key = toKey(userId, deviceId);
    const device = this.connected.get(key) ?? { userId, deviceId, sockets: 0 };
    if (++device.sockets === 1) this.changed.set(key, device);
    this.connected.set(key, device);
  }

  left({ userId, deviceId }: UserDevice): void {
    const key = toKey(userId, deviceId);
    const device = this.connected.get(key);
    if (!device || --device.sockets > 0) return;
    this.connected.delete(key);
    this.changed.set(key, device);
  }

  /** Runs one write at a time, so that the last state of a device is the last one written. */
  private queue(work: () => Promise<void>): Promise<void> {
    const written = this.writing.then(work);
    this.writing = written.catch(() => undefined);
    return written;
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

function toKey(userId: string, deviceId: string | null): string {
  return `${userId}/${deviceId}`;
}
