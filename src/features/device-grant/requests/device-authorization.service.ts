import { randomInt } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { ConcurrencyLimit } from '../../../platform/database/limits.js';
import { UUID } from '../../../platform/http/parameters/uuid.js';
import { cleanUserAgent } from '../../../platform/http/user-agent.js';
import { PushService } from '../../../realtime/push/push.service.js';
import { UserSearch } from '../../../user/search/user-search.js';
import { DeviceCodes, showUserCode } from './codes.js';
import type { DeviceAuthorization, DeviceAuthorizationDto } from './device-authorization.dto.js';
import { CODE_TTL, DeviceRequestStore, INTERVAL } from './device-request.store.js';

/** Hints that wait for a look-up; later ones do not arrive, and the page remains. */
const MOST_WAITING = 1000;

/** First step of a device without a browser (RFC 8628 §3.1). */
@Injectable()
export class DeviceAuthorizations {
  private readonly logger = new Logger('DeviceGrant');
  private readonly lookUps = new ConcurrencyLimit(2);

  constructor(
    private readonly codes: DeviceCodes,
    private readonly requests: DeviceRequestStore,
    private readonly users: UserSearch,
    private readonly pushes: PushService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** @param ip of the device */
  async begin(
    body: DeviceAuthorizationDto,
    ip: string | undefined,
    origin: Origin,
  ): Promise<DeviceAuthorization> {
    const deviceCode = this.codes.makeSecret();
    const userCode = this.codes.makeUserCode();
    const number = this.settings.deviceGrant === 'push' ? randomInt(10, 100) : null;
    const id = await this.requests.create(
      {
        deviceCodeHash: this.codes.hashSecret(deviceCode),
        userCodeHash: this.codes.hashUserCode(userCode),
        clientId: body.client_id,
        deviceId: body.device_id?.toLowerCase() ?? null,
        deviceName: body.device_name ?? null,
        userAgent: cleanUserAgent(body.user_agent) ?? origin.userAgent,
        address: origin.address,
        network: this.codes.hashNetwork(ip),
        number,
      },
      origin,
    );
    // After the answer: its time must not depend on the user.
    if (number !== null && body.login_hint !== undefined) this.lookUp(id, body.login_hint);
    const page = `${this.settings.publicUrl}/device`;
    const shown = showUserCode(userCode);
    return {
      device_code: deviceCode,
      user_code: shown,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${shown}`,
      expires_in: CODE_TTL,
      interval: INTERVAL,
      ...(number !== null && { number: String(number) }),
    };
  }

  /**
   * Looks up the user whom a request names, later (`DEVICE_GRANT=push`). Never throws: the person can still
   * type the code.
   */
  private lookUp(id: string, hint: string): void {
    if (this.lookUps.waiting >= MOST_WAITING) return;
    setImmediate(() => {
      this.lookUps
        .run(() => this.deliver(id, hint))
        .catch((error: unknown) => {
          this.logger.warn({ err: error, msg: 'a request of a device was not sent to its user' });
        });
    });
  }

  /** Sends a request to the open devices of the user. */
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
