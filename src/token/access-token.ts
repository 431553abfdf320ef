import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { Clock } from '../database/clock.js';
import type { Session } from '../events.js';
import { KeyService } from './key.service.js';
import { signJwt } from './sign-jwt.js';

/** A signed access token that is not stored yet: it is valid only once its row is there. */
export interface IssuedAccessToken {
  readonly token: string;
  readonly jti: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** Lifetime in seconds. */
  readonly expiresIn: number;
}

@Injectable()
export class AccessTokens {
  constructor(
    private readonly keys: KeyService,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Signs an access token for a session: ES256, `typ` at+jwt, claims of RFC 9068 (contract §5). */
  issue({ userId, sessionId, deviceId }: Session): IssuedAccessToken {
    const { publicUrl, accessTokenTtl: expiresIn } = this.settings;
    const { kid, privateKey } = this.keys.signing;
    const jti = randomUUID();
    const iat = Math.floor(this.clock.now() / 1000);
    const exp = iat + expiresIn;
    const device = deviceId === null ? {} : { device_id: deviceId };
    const token = signJwt(
      { alg: 'ES256', typ: 'at+jwt', kid },
      { iss: publicUrl, aud: publicUrl, sub: userId, sid: sessionId, ...device, jti, iat, exp },
      privateKey,
    );
    return { token, jti, expiresAt: exp, expiresIn };
  }
}
