import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Notifications } from '../database/notifications.js';
import type { ChannelEvent } from '../events.js';
import type { HintCarrier, HintListener } from './hint-carrier.js';
import { batchOf, pack, parcelOf, parseBatch, type Parcel } from './hint-batch.js';
import type { Reach } from './hint.js';
import { seal, unseal } from './seal.js';

/** UTF-8 bytes of a message (contract §7). PostgreSQL takes less than 8,000. */
const LONGEST_MESSAGE = 7900;
/** A hundred messages a second: each takes a lock of the whole server, and wakes every instance. */
const TURN_MS = 10;
/** Hints that wait for their turn: a second's worth and more. Of more, the newest is left to catch-up.ts. */
const MOST_WAITING = 10_000;
const LARGEST_UNKEPT = 4096;
/** Of a stored event: with a larger one, the others of its turn would have to be read from the history. */
const LARGEST_WHOLE = 2048;

interface Waiting extends Parcel {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Hints over PostgreSQL's NOTIFY: every instance hears all of them, many in one message, and passes over those of users who
 * are not connected to it. A single hint is sent at once; those that come within 10 ms after it share the next message.
 *
 * Others who can use this database can read hints, and repeat those of events that are not kept. They cannot do more: a
 * message that is not sealed with our key only makes instances compare their users' places with the histories.
 */
export class PostgresHints implements HintCarrier, OnModuleInit, OnApplicationShutdown {
  readonly largestUnkept = LARGEST_UNKEPT;
  /** PostgreSQL also sends us our own messages; an event that is not kept would then come twice. */
  private readonly ownName = randomUUID();
  private readonly ownBeginning: string;
  private readonly room: number;
  private readonly waiting: Waiting[] = [];
  private sending: Promise<void> | undefined;

  /** @param key 32 bytes, the same on all instances */
  constructor(
    private readonly notifications: Notifications,
    private readonly key: Buffer,
  ) {
    const empty = batchOf(this.ownName, []);
    this.ownBeginning = empty.slice(0, -']}'.length);
    this.room = LONGEST_MESSAGE - seal(empty, key).length;
  }

  onModuleInit(): Promise<void> {
    return this.notifications.open();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.sending; // the last pushes are not left to the next sweep
    await this.notifications.close();
  }

  listen(listener: HintListener): void {
    this.notifications.on('message', (message) => this.receive(message, listener));
    this.notifications.on('up', () => {
      listener.onUp();
      listener.onBack();
    });
  }

  get isConnected(): boolean {
    return this.notifications.isUp;
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

  send(hint: ChannelEvent | Reach): Promise<void> {
    if (this.waiting.length === MOST_WAITING) return Promise.reject(new Error('too many hints wait'));
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...parcelOf(hint, LARGEST_WHOLE), resolve, reject });
      this.sending ??= this.sendAll();
    });
  }

  /** One message after the other, never more than one in a turn. Never rejects. */
  private async sendAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const turn = delay(TURN_MS);
      const texts = pack(this.waiting, this.room);
      await this.sendTogether(this.waiting.splice(0, texts.length), texts);
      await turn;
    }
    this.sending = undefined;
  }

  private async sendTogether(batch: readonly Waiting[], texts: readonly string[]): Promise<void> {
    try {
      await this.notifications.notify(seal(batchOf(this.ownName, texts), this.key));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  private receive(message: string, listener: HintListener): void {
    const json = unseal(message, this.key);
    if (json?.startsWith(this.ownBeginning)) return; // before it is parsed: a busy instance hears itself a hundred times a second
    const batch = json === undefined ? undefined : parseBatch(json);
    for (const hint of batch?.hints ?? []) {
      if ('id' in hint) listener.onEvent(hint);
      else listener.onReach(hint);
    }
    if (!batch || batch.isDoubtful) listener.onDoubt();
  }
}
