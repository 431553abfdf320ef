import { Injectable } from '@nestjs/common';
import { TokenGrant, type GrantCall, type Verified } from '../../../extensions.js';
import type { Origin } from '../../../audit/audit-event.js';
import { SignInSteps } from '../../../auth/extensions/sign-in-steps.js';
import { SignInRefusals } from '../../../auth/sign-in/sign-in-refusals.js';
import { requireUnchangedClaims } from '../../../auth/sign-in/unchanged-claims.js';
import { SignInService } from '../../../auth/sign-in/sign-in.service.js';
import type { DeviceDto, IssuedTokens } from '../../../auth/token.dto.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { DpopProofs, type DpopProof } from '../../../token/dpop/dpop-proofs.js';
import { parseRefreshToken } from '../../../token/refresh/refresh-token.js';
import type { Identity } from '../../../provider/identity/identity.js';
import { UserStore } from '../../../user/user.store.js';
import { ApprovedSessions } from '../approval/approved-sessions.js';
import { SealedIdentities } from '../../../auth/sealed-identities.js';
import { DeviceCodes } from './codes.js';
import { DeviceTokenDto } from './device-authorization.dto.js';
import { DeviceDecisions } from './device-decisions.js';
import type { DeviceRequest } from './device-request.entity.js';
import { DeviceRequestStore, type Polled } from './device-request.store.js';

/** `grant_type` of RFC 8628 §3.4. */
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** Answers of RFC 8628 §3.5; all have the status 400 (RFC 6749 §5.2). */
const ANSWERS: Readonly<Record<Exclude<Polled, 'approved'>, OAuthError>> = {
  open: new OAuthError('authorization_pending', 'the request waits for a decision'),
  too_soon: new OAuthError('slow_down', 'polls come too soon: wait five seconds more', { status: 400 }),
  denied: new OAuthError('access_denied', 'the request was denied', { status: 400 }),
  expired: new OAuthError('expired_token', 'the device code is unknown, used or expired'),
};

/** Refusals of a sign-in: a device gets one answer for all of them (RFC 8628 §3.5). */
const REFUSALS: ReadonlySet<string> = new Set(['access_denied', 'invalid_grant']);

/** The grant of a device without a browser at POST /oauth2/token. */
@Injectable()
@TokenGrant({ grantType: DEVICE_GRANT, endpoint: '/oauth2/device_authorization', dto: DeviceTokenDto })
export class DeviceGrant implements TokenGrant<DeviceTokenDto> {
  constructor(
    private readonly codes: DeviceCodes,
    private readonly requests: DeviceRequestStore,
    private readonly decisions: DeviceDecisions,
    private readonly identities: SealedIdentities,
    private readonly proofs: DpopProofs,
    private readonly approved: ApprovedSessions,
    private readonly users: UserStore,
    private readonly steps: SignInSteps,
    private readonly refusals: SignInRefusals,
    private readonly signIns: SignInService,
    private readonly signOuts: SignOutService,
  ) {}

  async issue(params: DeviceTokenDto, { dpop, origin, closed }: GrantCall): Promise<IssuedTokens> {
    const proof = await this.proofs.validateAtSignIn(dpop); // first: a bad one spends no code
    const deviceCodeHash = this.codes.hashSecret(params.device_code);
    let polled = await this.requests.poll(deviceCodeHash, params.client_id);
    if (polled === 'open') {
      await this.decisions.wait(deviceCodeHash, closed);
      polled = await this.requests.look(deviceCodeHash);
    }
    if (polled !== 'approved') throw ANSWERS[polled];
    if (closed.aborted) throw ANSWERS.open;
    const request = await this.requests.spend(deviceCodeHash);
    if (!request) throw ANSWERS.expired;
    const tokens = await this.signIn(request, proof, origin);
    if (!closed.aborted) return tokens;
    await this.takeBack(request, tokens, origin);
    throw ANSWERS.open;
  }

  /** Ends a session if its tokens were not sent. The next poll gets tokens, unless a sign-out came first. */
  private async takeBack(request: DeviceRequest, tokens: IssuedTokens, origin: Origin): Promise<void> {
    const { session } = parseRefreshToken(tokens.refresh_token)!;
    await this.signOuts.signOut('session', session, origin, {
      cause: 'replaced',
      last: async ({ manager }, _provider, count) => {
        if (count === 1) await this.requests.reopen(manager, request);
      },
    });
  }

  /** Checks again what the sign-in and the approval have checked, and writes the session. */
  private async signIn(
    request: DeviceRequest,
    proof: DpopProof | undefined,
    origin: Origin,
  ): Promise<IssuedTokens> {
    const device = deviceOf(request);
    const known = {
      origin,
      provider: request.provider!,
      userId: request.userId!,
      deviceId: request.deviceId,
    };
    try {
      const verified = await this.refusals.watch(known, () => this.verifiedOf(request));
      const admitted = await this.steps.check(verified, origin, device);
      await this.refusals.watch(known, () => requireUnchangedClaims(this.users, admitted));
      return await this.signIns.issue(admitted, device, { proof, origin });
    } catch (error) {
      if (!(error instanceof OAuthError) || !REFUSALS.has(error.error)) throw error;
      const { description, reason } = error;
      throw new OAuthError('access_denied', description, { reason, status: 400, cause: error });
    }
  }

  /** @throws OAuthError `access_denied`: a session that has ended since gives no other one its rights */
  private async verifiedOf(request: DeviceRequest): Promise<Verified> {
    const { id, provider, identity, requestedAt, userId, approvedBy } = request;
    if (approvedBy === null) {
      const stored = { provider: provider!, identity: identity!, requestedAt: requestedAt! };
      return { ...this.identities.open(stored, id), begunAt: requestedAt!.getTime() };
    }
    const session = { userId: userId!, sessionId: approvedBy };
    const authentication = identity as Pick<Identity, 'acr' | 'amr'>;
    return this.approved.identityOf(session, authentication, requestedAt!.getTime());
  }
}

/** As the device has described itself when it began. */
function deviceOf({ deviceId, deviceName, userAgent }: DeviceRequest): DeviceDto {
  return {
    ...(deviceId !== null && { device_id: deviceId }),
    ...(deviceName !== null && { device_name: deviceName }),
    ...(userAgent !== null && { user_agent: userAgent }),
  };
}
