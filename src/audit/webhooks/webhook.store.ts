import { Injectable } from '@nestjs/common';
import type { QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { Sql } from '../../database/statements/sql.js';
import { systemOrigin } from '../audit-event.js';
import { BEFORE_ALL, type Cursor } from '../audit-feed.js';
import { AuditStore } from '../audit.store.js';

/** Longer than a delivery takes, with the statements around it. */
export const LEASE_MS = 15_000;
const HELD_UNTIL = `now() + interval '${LEASE_MS} milliseconds'`;

/** Pause between the attempts of an address that is paused. */
export const PAUSED_S = 3600;

/** Rows that no instance has held for this long belong to addresses that are in no settings any more. */
const FORGOTTEN_AFTER = '10 minutes';

/** What the holder of an address knows of it. */
export interface HeldWebhook {
  readonly position: Cursor;
  readonly attempts: number;
  readonly failingSince: Date | null;
  readonly retryAt: Date | null;
  readonly pausedAt: Date | null;
}

const COLUMNS = `
  position, attempts, failing_since AS "failingSince", retry_at AS "retryAt", paused_at AS "pausedAt"`;
const HOLD = {
  name: 'webhook-hold',
  text: `
    UPDATE webhooks SET holder = $2, held_until = ${HELD_UNTIL}
    WHERE address_hash = $1 AND (holder = $2 OR held_until < now()) RETURNING ${COLUMNS}`,
};
// A new address begins now: at the latest horizon that AuditFeed may have.
const ADD = {
  name: 'webhook-add',
  text: `
    INSERT INTO webhooks (address_hash, holder, position, held_until)
    VALUES ($1, $2, (extract(epoch FROM now() - interval '1 second') * 1000000)::bigint || '-' || $3, ${HELD_UNTIL})
    ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
};
const ACCEPTED = {
  name: 'webhook-accepted',
  text: `
    UPDATE webhooks SET position = $3, held_until = ${HELD_UNTIL},
      attempts = 0, failing_since = NULL, retry_at = NULL, paused_at = NULL
    WHERE address_hash = $1 AND holder = $2 RETURNING attempts`,
};
const MOVED = {
  name: 'webhook-moved',
  text: 'UPDATE webhooks SET position = $3 WHERE address_hash = $1 AND holder = $2',
};
const FAILED = {
  name: 'webhook-failed',
  text: `
    UPDATE webhooks SET attempts = attempts + 1, failing_since = coalesce(failing_since, now()),
      retry_at = now() + make_interval(secs => $3)
    WHERE address_hash = $1 AND holder = $2`,
};
const PAUSED = `
  UPDATE webhooks SET attempts = attempts + 1, paused_at = now(), retry_at = now() + interval '${PAUSED_S} seconds'
  WHERE address_hash = $1 AND holder = $2 RETURNING attempts`;
const RELEASE = {
  name: 'webhook-release',
  text: 'UPDATE webhooks SET held_until = now() WHERE address_hash = $1 AND holder = $2',
};
const TRY_NOW = {
  name: 'webhook-try-now',
  text: 'UPDATE webhooks SET retry_at = now() WHERE address_hash = $1 AND failing_since IS NOT NULL',
};
const REMOVE_OTHERS = {
  name: 'webhooks-remove-others',
  text: `DELETE FROM webhooks WHERE address_hash <> ALL ($1) AND held_until < now() - interval '${FORGOTTEN_AFTER}'`,
};

/**
 * State of the addresses. Every write names its sender: after the lease has passed to another one, it changes nothing, so a position
 * never moves backwards.
 */
@Injectable()
export class WebhookStore {
  constructor(
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
    private readonly audit: AuditStore,
  ) {}

  /** Begins or extends the lease. @returns undefined if another sender has it */
  async hold(address: Buffer, holder: string): Promise<HeldWebhook | undefined> {
    const [held] = await this.sql.query<HeldWebhook & QueryResultRow>(HOLD, [address, holder]);
    if (held) return held;
    const [added] = await this.sql.query<HeldWebhook & QueryResultRow>(ADD, [address, holder, BEFORE_ALL]);
    return added;
  }

  /** Ends the lease. */
  async release(address: Buffer, holder: string): Promise<void> {
    await this.sql.query(RELEASE, [address, holder]);
  }

  /** Stores an accepted event, and extends the lease. @returns false if another sender has it */
  async accepted(address: Buffer, holder: string, position: Cursor): Promise<boolean> {
    return (await this.sql.query(ACCEPTED, [address, holder, position])).length > 0;
  }

  /** Stores a position without a delivery. */
  async moved(address: Buffer, holder: string, position: Cursor): Promise<void> {
    await this.sql.query(MOVED, [address, holder, position]);
  }

  /** Stores a failed attempt. @param pause seconds until the next one */
  async failed(address: Buffer, holder: string, pause: number): Promise<void> {
    await this.sql.query(FAILED, [address, holder, pause]);
  }

  /** Stores the attempt that pauses the address, with an event of the trail. @param reason for people */
  pause(address: Buffer, holder: string, reason: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const [rows] = await manager.query<[unknown[], number]>(PAUSED, [address, holder]);
      if (rows.length === 0) return;
      const event = { event: 'webhook_paused', userId: null, reason, origin: systemOrigin() } as const;
      await this.audit.write(manager, [event]);
    });
  }

  /** Ends the pause between two attempts, on all instances. */
  async tryNow(address: Buffer): Promise<void> {
    await this.sql.query(TRY_NOW, [address]);
  }

  /** Removes the addresses that are in no settings any more. */
  async removeOthers(addresses: readonly Buffer[]): Promise<void> {
    await this.sql.query(REMOVE_OTHERS, [addresses]);
  }
}
