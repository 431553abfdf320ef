import { Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { deriveUserId } from '../../identity/user-id.js';
import type { Identity } from '../../provider/identity/identity.js';
import type { DeviceDto } from '../token.dto.js';
import { SignInRefusals } from './sign-in-refusals.js';
import type { Verified } from './token-issuer.js';

/** A verified user who wants to sign in. */
export interface Candidate {
  readonly provider: string;
  readonly identity: Identity;
  readonly userId: string;
  readonly origin: Origin;
  /** Absent in the flow of stock clients, which name the device later. */
  readonly device?: DeviceDto;
}

/** @throws OAuthError `access_denied` if the candidate may not sign in */
export type SignInCheck = (candidate: Candidate) => void | Promise<void>;

/** Checks of other modules (policy/) before anything of a sign-in is written. */
@Injectable()
export class SignInChecks {
  private readonly checks: SignInCheck[] = [];

  constructor(private readonly refusals: SignInRefusals) {}

  add(check: SignInCheck): void {
    this.checks.push(check);
  }

  /** @throws what a check throws; it is recorded */
  async run({ provider, identity }: Verified, origin: Origin, device?: DeviceDto): Promise<void> {
    if (this.checks.length === 0) return;
    const { providerUserId } = identity;
    const userId = deriveUserId(provider, providerUserId);
    const deviceId = device?.device_id?.toLowerCase() ?? null;
    await this.refusals.watch({ origin, provider, providerUserId, userId, deviceId }, async () => {
      const candidate = { provider, identity, userId, origin, ...(device && { device }) };
      for (const check of this.checks) await check(candidate);
    });
  }
}
