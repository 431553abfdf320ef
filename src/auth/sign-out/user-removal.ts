import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Origin } from '../../audit/audit-event.js';
import { AuditStore } from '../../audit/audit.store.js';
import { ChannelHistory } from '../../channel/channel.history.js';
import { removeChannel, removeMostEvents } from '../../channel/channel.removal.js';
import { PresenceStore } from '../../channel/presence.store.js';
import { DeviceStore } from '../../device/device.store.js';
import { SignOutService } from '../../device/sign-out.service.js';
import type { EndCause } from '../../platform/events.js';
import { KeyStore } from '../../token/keys/key.store.js';
import { lockUser } from '../../user/lock-user.js';
import { UserStore } from '../../user/user.store.js';
import { AuthorizationCodes } from '../clients/authorization-codes.js';

/** Removes users who are signed out, with devices and channel. */
@Injectable()
export class UserRemoval {
  constructor(
    private readonly signOuts: SignOutService,
    private readonly devices: DeviceStore,
    private readonly history: ChannelHistory,
    private readonly presence: PresenceStore,
    private readonly codes: AuthorizationCodes,
    private readonly users: UserStore,
    private readonly keys: KeyStore,
    private readonly audit: AuditStore,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * Removes a user. The ended sessions, which hold ids only, stay for the revocation feed, and so does the
   * audit trail, with ids only. Of a suspended user, the id stays, and sign-ins are refused. A failed removal
   * may be repeated: the user is removed last.
   * @returns false without such a user
   */
  async remove(userId: string, origin: Origin): Promise<boolean> {
    const forgotten = await this.audit.forget(this.dataSource.manager, userId);
    for (const formerId of await this.users.formerIds(userId)) {
      await this.audit.forget(this.dataSource.manager, formerId, 0, userId);
    }
    await this.removeMost(userId);
    return this.history.transactionOf(userId, async ({ manager }) => {
      const provider = await lockUser(manager, userId, 'removal');
      if (provider === undefined) return false;
      await this.removeRest(manager, { userId, provider }, origin);
      await this.audit.forget(manager, userId, forgotten);
      const isSelf = origin.actor.type === 'user' && origin.actor.name === userId;
      const by = isSelf ? { ...origin, address: null, userAgent: null } : origin;
      await this.audit.write(manager, [{ event: 'user_removed', userId, provider, origin: by }]);
      return true;
    });
  }

  /** What may be much, before the transaction of `removeRest`. */
  async removeMost(userId: string): Promise<void> {
    await this.codes.forget(userId);
    await removeMostEvents(this.dataSource, userId);
    await this.presence.forget(userId);
  }

  /** Removes a locked user. Locks are taken in the order of a sign-in: user, devices, sessions, channel. */
  async removeRest(
    manager: EntityManager,
    { userId, provider }: { readonly userId: string; readonly provider: string },
    origin: Origin,
    cause: EndCause = 'removed',
  ): Promise<void> {
    await this.devices.removeAll(manager, userId);
    await this.signOuts.endForRemoval(manager, userId, provider, origin, cause); // begun since the sign-out
    await removeChannel(manager, userId);
    await this.users.remove(manager, userId, await this.keys.lastTokenEnd(manager));
  }
}
