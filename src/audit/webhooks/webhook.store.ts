import { Injectable } from '@nestjs/common';
import { DataSource, IsNull, Not, Raw, In, type Repository } from 'typeorm';
import { MARGIN } from '../../platform/database/commit-reader.js';
import { placeOf } from '../../platform/database/page.js';
import { NO_USER, systemOrigin } from '../audit-event.js';
import type { Cursor } from '../audit-feed.js';
import { AuditStore } from '../audit.store.js';
import { Webhook } from './webhook.entity.js';

/** Longer than a delivery takes, with the statements around it. */
export const LEASE_MS = 15_000;
const LEASE_END = `now() + interval '${LEASE_MS} milliseconds'`;

/** Pause between the attempts of an address that is paused. */
export const PAUSED_S = 3600;

/** Rows that no instance has held for this long belong to addresses that are in no settings any more. */
const FORGOTTEN_AFTER = '10 minutes';

/** Cursor at which a new address begins: after each horizon until now (database/commit-reader.ts). */
const NOW = `${placeOf(`now() - interval '${MARGIN} microseconds'`)} || '-${NO_USER}'`;

export type LeasedWebhook = Pick<Webhook, 'position' | 'attempts' | 'failingSince' | 'retryAt' | 'pausedAt'>;

/** Sender of an address, while it has the lease. */
export type Holder = Pick<Webhook, 'addressHash' | 'holder'>;

/** Columns of an address that works, and whose lease goes on. */
const WORKS = {
  attempts: 0,
  failingSince: null,
  retryAt: null,
  pausedAt: null,
  leasedUntil: () => LEASE_END,
};

/** State of the addresses. A former holder's write changes nothing, so a position never moves backwards. */
@Injectable()
export class WebhookStore {
  private readonly webhooks: Repository<Webhook>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly audit: AuditStore,
  ) {
    this.webhooks = dataSource.getRepository(Webhook);
  }

  /** Adds the address or extends its lease. @returns undefined if another sender has the lease */
  async lease(sender: Holder): Promise<LeasedWebhook | undefined> {
    const { affected } = await this.webhooks
      .createQueryBuilder()
      .update()
      .set({ holder: sender.holder, leasedUntil: () => LEASE_END })
      .where('address_hash = :addressHash AND (holder = :holder OR held_until < now())', sender)
      .execute();
    if (affected === 0) await this.add(sender);
    return (await this.webhooks.findOneBy(sender)) ?? undefined;
  }

  /** Adds an address unless it exists. */
  private async add(sender: Holder): Promise<void> {
    await this.webhooks
      .createQueryBuilder()
      .insert()
      .values({ ...sender, position: () => NOW, leasedUntil: () => LEASE_END })
      .orIgnore()
      .updateEntity(false)
      .execute();
  }

  async release(holder: Holder): Promise<void> {
    await this.webhooks.update(holder, { leasedUntil: () => 'now()' });
  }

  /** Stores an accepted event, and extends the lease. @returns false if another sender has it */
  async accepted(holder: Holder, position: Cursor): Promise<boolean> {
    const { affected } = await this.webhooks.update(holder, { position, ...WORKS });
    return affected! > 0;
  }

  /**
   * Stores an event that the address does not get, with an event of the trail.
   * @param reason for people; null: without an event
   * @returns false if another sender has the lease
   */
  setAside(holder: Holder, position: Cursor, reason: string | null): Promise<boolean> {
    return this.dataSource.transaction(async (manager) => {
      const { affected } = await manager.update(Webhook, holder, { position, ...WORKS });
      const event = { event: 'webhook_event_set_aside', userId: null, origin: systemOrigin() } as const;
      if (affected && reason !== null) await this.audit.write(manager, [{ ...event, reason }]);
      return affected! > 0;
    });
  }

  async moved(holder: Holder, position: Cursor): Promise<void> {
    await this.webhooks.update(holder, { position });
  }

  /** Stores a failed attempt. @param pause seconds until the next one */
  async failed(holder: Holder, pause: number): Promise<void> {
    await this.webhooks.update(holder, {
      attempts: () => 'attempts + 1',
      // of NULL too; a distributed database may reject `now()` in coalesce
      failingSince: () => 'least(failing_since, now())',
      retryAt: () => `now() + make_interval(secs => ${pause})`,
    });
  }

  /** Stores the attempt that pauses the address, with an event of the trail. @param reason for people */
  pause(holder: Holder, reason: string): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const retryAt = (): string => `now() + make_interval(secs => ${PAUSED_S})`;
      const paused = { attempts: () => 'attempts + 1', pausedAt: () => 'now()', retryAt };
      const { affected } = await manager.update(Webhook, holder, paused);
      const event = { event: 'webhook_paused', userId: null, reason, origin: systemOrigin() } as const;
      if (affected) await this.audit.write(manager, [event]);
    });
  }

  /** Ends the pause between two attempts, on all instances. */
  async tryNow(addressHash: Buffer): Promise<void> {
    await this.webhooks.update({ addressHash, failingSince: Not(IsNull()) }, { retryAt: () => 'now()' });
  }

  async removeOthers(addresses: readonly Buffer[]): Promise<void> {
    const leasedUntil = Raw((column) => `${column} < now() - interval '${FORGOTTEN_AFTER}'`);
    await this.webhooks.delete({ addressHash: Not(In(addresses)), leasedUntil });
  }
}
