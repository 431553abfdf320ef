import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config/settings/settings.js';
import { SETTINGS } from '../config/settings/settings.module.js';
import { Clock } from '../database/clock.js';
import type { AuthorizationPageDto } from './authorization-page.dto.js';

const VALID_MS = 10 * 60 * 1000;
const FORMAT = /^(\d{1,15})\.([A-Za-z0-9_-]{43})$/;

/**
 * Proves that a form was made by this provider, a short while ago, for exactly this authorization request.
 * Signed instead of kept in a cookie: browsers block cookies of third parties in frames, and the page must work in one
 * (spec §4.5.1). Any instance can check another's tokens, since key and clock are the same.
 */
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

  /** Whether a token was made here for this request, at most 10 minutes ago. */
  isValid(token: string, request: AuthorizationPageDto): boolean {
    const match = FORMAT.exec(token);
    if (!match) return false;
    const made = Number(match[1]);
    const signature = Buffer.from(match[2]!, 'base64url');
    return timingSafeEqual(signature, this.sign(made, request)) && this.clock.now() - made <= VALID_MS;
  }

  private sign(made: number, { client_id, redirect_uri, state }: AuthorizationPageDto): Buffer {
    const signed = JSON.stringify([made, client_id, redirect_uri, state]); // as JSON: clear where one ends and the next begins
    return createHmac('sha256', this.key).update(signed).digest();
  }
}
