import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { AuthorizationCodes } from '../../../auth/clients/authorization-codes.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { challengeOf } from '../../../provider/adapters/authorization-request.js';
import { deviceCallback } from '../device-grant.feature.js';
import { SealedIdentities } from '../../../auth/sealed-identities.js';
import { DeviceCodes } from '../requests/codes.js';
import type { DeviceRequest } from '../requests/device-request.entity.js';
import { DeviceRequestStore } from '../requests/device-request.store.js';
import { UserCodes } from '../requests/user-codes.js';
import { requestIdOf } from './device-cookie.js';
import { DeviceConfirmations, type Confirmation } from './device-confirmations.js';

/** `client_id` of the page, which is a stock client of this service itself. */
const CLIENT_ID = 'latchkey-device-page';

/** An open request, with the sign-in of the person who is to answer. */
export interface Question extends Confirmation {
  readonly request: DeviceRequest;
}

/** Steps of the page: code, sign-in, question (RFC 8628 §3.3). */
@Injectable()
export class DevicePage {
  constructor(
    private readonly codes: DeviceCodes,
    private readonly requests: DeviceRequestStore,
    private readonly confirmations: DeviceConfirmations,
    private readonly identities: SealedIdentities,
    private readonly authorizationCodes: AuthorizationCodes,
    private readonly userCodes: UserCodes,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Finds the request of a code.
   * @param text as it was typed
   * @returns undefined if it is wrong, which counts
   * @throws OAuthError `slow_down` after too many wrong codes
   */
  findRequest(text: string, ip: string | undefined): Promise<DeviceRequest | undefined> {
    return this.userCodes.find(text, ip);
  }

  /** @returns secret for the browser, which is also the PKCE verifier of the page */
  begin({ id }: DeviceRequest): string {
    return `${this.codes.makeSecret()}.${id}`;
  }

  /** @returns address of the sign-in @param prompt for the provider */
  addressOf(secret: string, prompt?: 'select_account'): string {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: deviceCallback(this.settings),
      code_challenge: challengeOf(secret),
      code_challenge_method: 'S256',
      state: requestIdOf(secret),
      ...(prompt && { prompt }),
    });
    return `/oauth2/authorize?${query.toString()}`;
  }

  /** Keeps the identity of a finished sign-in, for the question. @throws OAuthError `invalid_grant` */
  async finish(code: string, secret: string): Promise<void> {
    const redeemed = await this.authorizationCodes.redeem(code);
    const isOurs =
      redeemed.clientId === CLIENT_ID &&
      redeemed.redirectUri === deviceCallback(this.settings) &&
      redeemed.codeChallenge === challengeOf(secret);
    if (!isOurs) throw new OAuthError('invalid_grant', 'the sign-in was begun in another browser');
    const requestId = requestIdOf(secret);
    const request = await this.requests.findOpen({ id: requestId });
    if (!request) throw new OAuthError('invalid_grant', 'the device code is used or expired');
    const { provider, identity, requestedAt } = redeemed;
    const verified = { provider, identity, requestedAt };
    await this.confirmations.save(secret, requestId, verified, request.codesExpireAt);
  }

  /** @returns undefined if there is no question any more */
  async findQuestion(secret: string): Promise<Question | undefined> {
    const confirmation = await this.confirmations.find(secret);
    const request = confirmation && (await this.requests.findOpen({ id: confirmation.requestId }));
    return request ? { ...confirmation, request } : undefined;
  }

  /** @returns whether the answer counts: the request may have been decided elsewhere */
  async answer(secret: string, isApproved: boolean, origin: Origin): Promise<boolean> {
    const question = await this.findQuestion(secret);
    if (!question) return false;
    await this.confirmations.remove(secret);
    const { requestId, verified } = question;
    const userId = deriveUserId(verified.provider, verified.identity.providerUserId);
    const byUser = { ...origin, actor: { type: 'user', name: userId } } as const;
    const approval = { ...this.identities.seal(verified, requestId), approvedBy: null };
    const decision = { userId, origin: byUser, ...(isApproved && { approval }) };
    return this.requests.decide(requestId, decision);
  }

  /** Whether the request names another user than the one who has signed in. */
  isOfAnother({ request, verified }: Question): boolean {
    const { hintedUserId } = request;
    const userId = deriveUserId(verified.provider, verified.identity.providerUserId);
    return hintedUserId !== null && hintedUserId !== userId;
  }
}
