import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import type { AuthorizationPageDto } from './authorize.dto.js';

const VALID_MS = 10 * 60 * 1000;
const FORMAT = /^(\d{1,15})\.([A-Za-z0-9_-]{43})$/;

/** Tokens of the login form, bound to its request. Signed: browsers block third-party cookies in frames. */
@Injectable()
export class CsrfTokens {
  private readonly key: Buffer;

  constructor(
    @Inject(SETTINGS) settings: Settings,
    private readonly clock: Clock,
  ) {
    this.key = settings.secretKey.derive('sample-provider-csrf');
  }

  /** `<milliseconds>.<HMAC-SHA256>`. */
  make(request: AuthorizationPageDto): string {
    const made = Math.floor(this.clock.now());
    return `${made}.${this.sign(made, request).toString('base64url')}`;
  }

  /** Whether a token was made for this request at most 10 minutes ago. */
  isValid(token: string, request: AuthorizationPageDto): boolean {
    const match = FORMAT.exec(token);
    if (!match) return false;
    const made = Number(match[1]);
    const signature = Buffer.from(match[2]!, 'base64url');
    return timingSafeEqual(signature, this.sign(made, request)) && this.clock.now() - made <= VALID_MS;
  }

  private sign(made: number, request: AuthorizationPageDto): Buffer {
    const { client_id, redirect_uri, state, code_challenge = null } = request;
    // JSON: no other values give this text
    const signed = JSON.stringify([made, client_id, redirect_uri, state, code_challenge]);
    return createHmac('sha256', this.key).update(signed).digest();
  }
}
