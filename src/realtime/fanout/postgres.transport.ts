import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { FanoutListener, FanoutTransport } from './fanout.js';
import { decodeMessage, encodeMessage, isFrom, type Notification } from './notification.js';
import type { PostgresListener } from './postgres-listener.js';

/** UTF-8 bytes of a message (docs/security.md#sockets). PostgreSQL accepts less than 8,000. */
const LONGEST_MESSAGE = 7900;
/** A hundred messages a second: each takes a lock of the whole server, and wakes every instance. */
const PAUSE_MS = 10;
/** Beyond, other instances find the event within 15 s (channel-hub.ts). */
const MOST_WAITING = 10_000;

interface Waiting {
  readonly json: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Notifications over PostgreSQL's NOTIFY: every instance receives all of them, many in one message. */
export class PostgresTransport implements FanoutTransport, OnModuleInit, OnApplicationShutdown {
  readonly largestTransient = 4096;
  /** PostgreSQL also delivers our own messages; an event with `ttl` 0 would then be delivered twice. */
  private readonly ownName = randomUUID();
  private readonly room: number;
  private readonly waiting: Waiting[] = [];
  private sending: Promise<void> | undefined;

  constructor(
    private readonly postgres: PostgresListener,
    private readonly key: Buffer,
  ) {
    this.room = LONGEST_MESSAGE - encodeMessage(this.ownName, [], key).length;
  }

  onModuleInit(): Promise<void> {
    return this.postgres.open();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.sending;
    await this.postgres.close();
  }

  listen(listener: FanoutListener): void {
    this.postgres.on('message', (text) => this.receive(text, listener));
    this.postgres.on('up', () => listener.onUp());
  }

  get isConnected(): boolean {
    return this.postgres.isUp;
  }

  /** Pushes continue while the listening connection is down (docs/scaling-out.md#if-redis-is-unreachable). */
  async isUp(): Promise<boolean> {
    return true;
  }

  send(notification: Notification): Promise<void> {
    if (this.waiting.length === MOST_WAITING) {
      return Promise.reject(new Error('too many notifications wait'));
    }
    return new Promise((resolve, reject) => {
      this.waiting.push({ json: JSON.stringify(notification), resolve, reject });
      this.sending ??= this.sendAll();
    });
  }

  /** Sends one message after the other, with a pause. Never rejects. */
  private async sendAll(): Promise<void> {
    await Promise.resolve(); // notifications of one batch of events share a message
    while (this.waiting.length > 0) {
      const pause = delay(PAUSE_MS);
      await this.sendBatch(this.waiting.splice(0, this.fitting()));
      await pause;
    }
    this.sending = undefined;
  }

  /** @returns how many of the waiting notifications fit into one message; each fits alone */
  private fitting(): number {
    let left = this.room;
    const tooMany = this.waiting.findIndex(({ json }) => (left -= Buffer.byteLength(json) + 1) < 0);
    return tooMany === -1 ? this.waiting.length : Math.max(1, tooMany);
  }

  private async sendBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const notifications = batch.map(({ json }) => json);
      await this.postgres.notify(encodeMessage(this.ownName, notifications, this.key));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  private receive(text: string, listener: FanoutListener): void {
    if (isFrom(text, this.ownName)) return;
    const notifications = decodeMessage(text, this.key);
    if (!notifications) return listener.onDoubt();
    for (const notification of notifications) listener.onNotification(notification);
  }
}
