import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { forEachLimited, chunks } from '../database/statements/concurrency-limit.js';
import { PresenceStore, type Place } from './presence.store.js';

const WRITE_EVERY_MS = 1000;
const HEARTBEAT_EVERY_MS = 10_000;
const LARGEST_WRITE = 1000;

/** Keeps the database told of who is connected to this instance: changes of a second share a statement. */
@Injectable()
export class PresenceTracker implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(PresenceTracker.name);
  private readonly instanceId = randomUUID();
  /** Open sockets a place. */
  private readonly sockets = new Map<string, Place & { count: number }>();
  /** Places that have become taken or free since the last write. */
  private changed = new Map<string, Place>();
  private readonly timers: NodeJS.Timeout[] = [];
  private writing: Promise<void> = Promise.resolve();

  constructor(private readonly store: PresenceStore) {}

  async onModuleInit(): Promise<void> {
    await this.store.enter(this.instanceId);
    this.timers.push(
      setInterval(() => this.inTurn(() => this.write()), WRITE_EVERY_MS).unref(),
      setInterval(() => this.inTurn(() => this.heartbeat()), HEARTBEAT_EVERY_MS).unref(),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.timers.forEach(clearInterval);
    await this.writing;
    await this.store.clear(this.instanceId).catch(() => undefined); // else it counts as gone soon
  }

  arrived({ userId, deviceId }: Place): void {
    const key = keyOf(userId, deviceId);
    const place = this.sockets.get(key) ?? { userId, deviceId, count: 0 };
    if (++place.count === 1) this.changed.set(key, place);
    this.sockets.set(key, place);
  }

  left({ userId, deviceId }: Place): void {
    const key = keyOf(userId, deviceId);
    const place = this.sockets.get(key);
    if (!place || --place.count > 0) return;
    this.sockets.delete(key);
    this.changed.set(key, place);
  }

  /** One write after the other, so that the last word about a place is the last one written. */
  private inTurn(work: () => Promise<void>): void {
    this.writing = this.writing.then(work).catch((error: unknown) => this.logger.debug({ err: error }));
  }

  /** What could not be written is told with the next write; it does not keep the rest from being written. */
  private async write(): Promise<void> {
    const left = new Set(chunks([...this.changed], LARGEST_WRITE));
    this.changed = new Map();
    try {
      await forEachLimited([...left], async (some) => {
        const [taken, free] = [true, false].map((is) =>
          some.filter(([key]) => this.sockets.has(key) === is).map(([, place]) => place),
        );
        if (taken!.length > 0) await this.store.arrive(this.instanceId, taken!);
        if (free!.length > 0) await this.store.leave(this.instanceId, free!);
        left.delete(some);
      });
    } finally {
      for (const [key, place] of [...left].flat()) this.changed.set(key, place);
    }
  }

  private async heartbeat(): Promise<void> {
    if (!(await this.store.heartbeat(this.instanceId))) {
      await this.store.enter(this.instanceId);
      for (const [key, place] of this.sockets) this.changed.set(key, place); // nobody knows of them any more
    }
    await this.store.sweep();
  }
}

function keyOf(userId: string, deviceId: string | null): string {
  return `${userId}/${deviceId}`;
}
