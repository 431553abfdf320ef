import { randomInt } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { cleanUserAgent } from '../../../platform/http/user-agent.js';
import { HintedRequests } from '../approval/hinted-requests.js';
import { DeviceCodes, showUserCode } from './codes.js';
import type { DeviceAuthorization, DeviceAuthorizationDto } from './device-authorization.dto.js';
import { CODE_TTL, DeviceRequestStore, INTERVAL } from './device-request.store.js';

/** First step of a device without a browser (RFC 8628 §3.1). */
@Injectable()
export class DeviceAuthorizations {
  constructor(
    private readonly codes: DeviceCodes,
    private readonly requests: DeviceRequestStore,
    private readonly hinted: HintedRequests,
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
    if (number !== null && body.login_hint !== undefined) this.hinted.lookUp(id, body.login_hint);
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
}
