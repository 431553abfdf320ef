import { Inject, Injectable } from '@nestjs/common';
import { DataSource, Raw } from 'typeorm';
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
import type { Verified } from '../../../extensions.js';
import { DeviceConfirmation } from './device-confirmation.entity.js';
import { requestIdOf } from './device-cookie.js';

/** `client_id` of the page, which is a stock client of this service itself. */
const CLIENT_ID = 'latchkey-device-page';

/** An open request, with the sign-in of the person who is to answer. */
export interface Question {
  readonly request: DeviceRequest;
  readonly verified: Verified;
}

/** Steps of the page: code, sign-in, question (RFC 8628 §3.3). */
@Injectable()
export class DevicePage {
  constructor(
    private readonly codes: DeviceCodes,
    private readonly requests: DeviceRequestStore,
    private readonly dataSource: DataSource,
    private readonly identities: SealedIdentities,
    private readonly authorizationCodes: AuthorizationCodes,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

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
    const sealed = this.identities.seal({ provider, identity, requestedAt }, requestId);
    const row = { ...this.keyOf(secret), requestId, expiresAt: request.codesExpireAt, ...sealed };
    await this.dataSource.manager.upsert(DeviceConfirmation, row, ['secretHash']);
  }

  /** @returns undefined if there is no question any more */
  async findQuestion(secret: string): Promise<Question | undefined> {
    const where = { ...this.keyOf(secret), expiresAt: Raw((at) => `${at} > now()`) };
    const stored = await this.dataSource.manager.findOneBy(DeviceConfirmation, where);
    const request = stored && (await this.requests.findOpen({ id: stored.requestId }));
    return request ? { request, verified: this.identities.open(stored, request.id) } : undefined;
  }

  /** @returns whether the answer counts: the request may have been decided elsewhere */
  async answer(secret: string, isApproved: boolean, origin: Origin): Promise<boolean> {
    const question = await this.findQuestion(secret);
    if (!question) return false;
    await this.dataSource.manager.delete(DeviceConfirmation, this.keyOf(secret));
    const { request, verified } = question;
    const userId = deriveUserId(verified.provider, verified.identity.providerUserId);
    const byUser = { ...origin, actor: { type: 'user', name: userId } } as const;
    const approval = { ...this.identities.seal(verified, request.id), approvedBy: null };
    const decision = { userId, origin: byUser, ...(isApproved && { approval }) };
    return this.requests.decide(request.id, decision);
  }

  /** Whether the request names another user than the one who has signed in. */
  isOfAnother({ request, verified }: Question): boolean {
    const { hintedUserId } = request;
    const userId = deriveUserId(verified.provider, verified.identity.providerUserId);
    return hintedUserId !== null && hintedUserId !== userId;
  }

  private keyOf(secret: string): Pick<DeviceConfirmation, 'secretHash'> {
    return { secretHash: this.codes.hashSecret(secret) };
  }
}
