import { Injectable, Logger } from '@nestjs/common';
import { ConcurrencyLimit } from '../../../platform/database/limits.js';
import { UUID } from '../../../platform/http/parameters/uuid.js';
import { PushService } from '../../../realtime/push/push.service.js';
import { UserSearch } from '../../../user/user-search.js';
import { CODE_TTL, DeviceRequestStore } from '../requests/device-request.store.js';

/** Hints that wait for a look-up; later ones do not arrive, and the page remains. */
const MOST_WAITING = 1000;

/** Requests that name a user reach this user's open devices (`DEVICE_GRANT=push`). */
@Injectable()
export class HintedRequests {
  private readonly logger = new Logger('DeviceGrant');
  private readonly limit = new ConcurrencyLimit(2);

  constructor(
    private readonly users: UserSearch,
    private readonly requests: DeviceRequestStore,
    private readonly pushes: PushService,
  ) {}

  /** Looks the hint of a request up, later. Never throws: the person can still type the code. */
  lookUp(id: string, hint: string): void {
    if (this.limit.waiting >= MOST_WAITING) return;
    setImmediate(() => {
      this.limit
        .run(() => this.deliver(id, hint))
        .catch((error: unknown) => {
          this.logger.warn({ err: error, msg: 'a request of a device was not sent to its user' });
        });
    });
  }

  private async deliver(id: string, hint: string): Promise<void> {
    const filter = UUID.test(hint) ? { userId: hint.toLowerCase() } : { email: hint };
    const { users } = await this.users.find(filter, 2);
    if (users.length !== 1) return;
    const { userId } = users[0]!;
    const request = await this.requests.name(id, userId);
    if (!request) return;
    const data = {
      request_id: id,
      device_name: request.deviceName,
      address: request.address,
      expires_at: request.codesExpireAt.toISOString(),
    };
    await this.pushes.push(userId, 'device.requested', data, { ttl: CODE_TTL });
  }
}
