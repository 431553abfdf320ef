import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { decodeMessage, encodeMessage, partOf, type Notification } from './notification.js';
import type { PostgresListener } from './postgres-listener.js';
import type { FanoutTransport, TransportListener } from './transport.js';

/** UTF-8 bytes of a message (contract §7). PostgreSQL takes less than 8,000. */
const LONGEST_MESSAGE = 7900;
/** A hundred messages a second: each takes a lock of the whole server, and wakes every instance. */
const TURN_MS = 10;
/** Notifications that wait for their turn. Beyond, the newest is left to catch-up.ts. */
const MOST_WAITING = 10_000;
const LARGEST_UNKEPT = 4096;

interface Waiting {
  readonly part: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Notifications over PostgreSQL's NOTIFY: every instance receives all of them, many in one message. A single one is sent at once;
 * those of the next 10 ms share a message. A client with access to this database can read and repeat messages, but not forge
 * them: an unsigned message only causes a comparison with the histories.
 */
export class PostgresTransport implements FanoutTransport, OnModuleInit, OnApplicationShutdown {
  readonly largestUnkept = LARGEST_UNKEPT;
  /** PostgreSQL also delivers our own messages; an event with `ttl` 0 would then be delivered twice. */
  private readonly ownName = randomUUID();
  /** Bytes of a message for its parts and their commas. */
  private readonly room: number;
  private readonly waiting: Waiting[] = [];
  private sending: Promise<void> | undefined;

  /** @param key 32 bytes, the same on all instances */
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
    await this.sending; // the last pushes must not wait for another instance's sweep
    await this.postgres.close();
  }

  listen(listener: TransportListener): void {
    this.postgres.on('message', (text) => this.receive(text, listener));
    this.postgres.on('up', () => {
      listener.onUp();
      listener.onBack();
    });
  }

  get isConnected(): boolean {
    return this.postgres.isUp;
  }

  /** Also while its connection is away (contract §7): the database that takes the push is there. */
  async isUp(): Promise<boolean> {
    return true;
  }

  async subscribe(): Promise<void> {
    // one channel for all
  }

  unsubscribe(): void {
    // one channel for all
  }

  send(notification: Notification): Promise<void> {
    if (this.waiting.length === MOST_WAITING) {
      return Promise.reject(new Error('too many notifications wait'));
    }
    return new Promise((resolve, reject) => {
      this.waiting.push({ part: partOf(notification), resolve, reject });
      this.sending ??= this.sendAll();
    });
  }

  /** One message after the other, at most one in a turn. Never rejects. */
  private async sendAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const turn = delay(TURN_MS);
      await this.sendBatch(this.waiting.splice(0, this.fitting()));
      await turn;
    }
    this.sending = undefined;
  }

  /** How many of the waiting notifications fit into one message; each fits alone. */
  private fitting(): number {
    let left = this.room;
    const tooMany = this.waiting.findIndex(({ part }) => (left -= Buffer.byteLength(part) + 1) < 0);
    return tooMany === -1 ? this.waiting.length : Math.max(1, tooMany);
  }

  private async sendBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const parts = batch.map(({ part }) => part);
      await this.postgres.notify(encodeMessage(this.ownName, parts, this.key));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  private receive(text: string, listener: TransportListener): void {
    const message = decodeMessage(text, this.key);
    if (message?.from === this.ownName) return;
    for (const notification of message?.notifications ?? []) listener.onNotification(notification);
    if (!message || message.isDoubtful) listener.onDoubt();
  }
}
