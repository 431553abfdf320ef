import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { appendEvent } from '../channel/append.sql.js';
import type { ChannelEvent } from '../channel/channel-event.js';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { Sql } from '../database/sql.js';

/** A push as it is stored; `ttl` in seconds. */
export type NewEvent = Omit<ChannelEvent, 'offset' | 'sentAt'> & { readonly ttl: number };

interface Row {
  readonly event_offset: string | null;
  readonly sent_at: Date;
}

/**
 * One statement: the target is looked for, the user's counter locked and raised, and the event stored (not with a `ttl` of
 * 0). No row: there is no such user, or no such device of theirs.
 */
const PUSH = {
  name: 'push',
  text: `
    WITH target AS (
      SELECT user_id FROM users
      WHERE user_id = $1 AND ($5::uuid IS NULL OR EXISTS (SELECT FROM devices WHERE user_id = $1 AND device_id = $5))
    ), ${appendEvent({
      userId: '$1',
      id: '$2',
      event: '$3',
      data: '$4',
      deviceId: '$5',
      ttl: '$6',
      history: '$7',
      from: '(SELECT FROM target WHERE $6 > 0) AS kept',
    })}
    SELECT (SELECT event_offset FROM channel_event) AS event_offset, now() AS sent_at FROM target`,
};

@Injectable()
export class PushStore {
  constructor(
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** @returns the event with its place in the history; undefined when user or device do not exist. */
  async push(event: NewEvent): Promise<ChannelEvent | undefined> {
    const [row] = await this.sql.query<Row & Record<string, unknown>>(PUSH, this.values(event));
    return row && placed(event, row);
  }

  /**
   * Pushes once for a key: whoever comes with the same one later, or at the same time, gets the first answer.
   * @param key SHA-256 hashes of the key and of the body, and for how many seconds it is remembered
   * @param answer makes the answer to remember
   * @returns the answer, or 'other body'; undefined when user or device do not exist, which is not remembered
   */
  async pushOnce<Answer>(
    key: { readonly keyHash: Buffer; readonly bodyHash: Buffer; readonly ttl: number },
    event: NewEvent,
    answer: (event: ChannelEvent) => Answer,
  ): Promise<{ answer: Answer; pushed?: ChannelEvent } | 'other body' | undefined> {
    return this.dataSource.transaction(async (manager) => {
      const [known] = await manager.query<{ body_hash: Buffer; answer: string | null }[]>(CLAIM, [
        key.keyHash,
        key.bodyHash,
        key.ttl,
      ]);
      if (known!.answer !== null) {
        if (!known!.body_hash.equals(key.bodyHash)) return 'other body';
        return { answer: JSON.parse(known!.answer) as Answer };
      }
      const [row] = await manager.query<Row[]>(PUSH.text, this.values(event));
      if (!row) {
        await manager.query('DELETE FROM idempotency_keys WHERE key_hash = $1', [key.keyHash]);
        return undefined;
      }
      const pushed = placed(event, row);
      const first = answer(pushed);
      await manager.query('UPDATE idempotency_keys SET answer = $2 WHERE key_hash = $1', [
        key.keyHash,
        JSON.stringify(first),
      ]);
      return { answer: first, pushed };
    });
  }

  private values({ userId, id, event, data, deviceId, ttl }: NewEvent): unknown[] {
    return [userId, id, event, JSON.stringify(data), deviceId, ttl, this.settings.channelHistory];
  }
}

// Waits for whoever holds the key; then it is there with its answer, unless that push failed or was too long ago.
const CLAIM = `
  INSERT INTO idempotency_keys AS k (key_hash, body_hash, expires_at)
  VALUES ($1, $2, now() + make_interval(secs => $3))
  ON CONFLICT (key_hash) DO UPDATE SET
    body_hash = CASE WHEN k.expires_at > now() THEN k.body_hash ELSE excluded.body_hash END,
    answer = CASE WHEN k.expires_at > now() THEN k.answer END,
    expires_at = greatest(k.expires_at, CASE WHEN k.expires_at > now() THEN k.expires_at ELSE excluded.expires_at END)
  RETURNING body_hash, answer`;

function placed({ ttl: _ttl, ...event }: NewEvent, row: Row): ChannelEvent {
  const offset = row.event_offset === null ? null : Number(row.event_offset);
  return { ...event, offset, sentAt: row.sent_at.toISOString() };
}
