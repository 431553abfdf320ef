import { Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { Clock } from '../../../platform/database/clock.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../../platform/events.js';
import { UUID } from '../../../platform/http/parameters/uuid.js';
import { browserOf } from '../../../platform/http/user-agent.js';
import { DpopProofs, type DpopCall } from '../../../token/dpop/dpop-proofs.js';
import type { Identity } from '../../../provider/identity/identity.js';
import { authenticateAgain, MOST_AGE } from '../../../token/sessions/recent-authentication.js';
import { SessionStore } from '../../../token/sessions/session.store.js';
import { UserStore } from '../../../user/user.store.js';
import type { DeviceRequest } from '../requests/device-request.entity.js';
import { DeviceRequestStore, type Decision } from '../requests/device-request.store.js';
import { UserCodes } from '../requests/codes.js';
import type { DecideDto, DeviceRequestList } from './device-requests.dto.js';

type Session = NonNullable<Awaited<ReturnType<SessionStore['find']>>>;

interface Call {
  readonly caller: SessionIds;
  readonly ip: string | undefined;
  readonly origin: Origin;
  readonly proof: DpopCall;
  /** Of the caller's session, for the one that it approves. */
  readonly authentication: Pick<Identity, 'acr' | 'amr'>;
}

/** Decisions of a person on a device that is signed in (docs/device-sign-in.md#on-a-signed-in-device). */
@Injectable()
export class DeviceRequests {
  constructor(
    private readonly userCodes: UserCodes,
    private readonly requests: DeviceRequestStore,
    private readonly sessions: SessionStore,
    private readonly users: UserStore,
    private readonly proofs: DpopProofs,
    private readonly clock: Clock,
  ) {}

  async list(userId: string): Promise<DeviceRequestList> {
    const found = await this.requests.findNaming(userId);
    const device_requests = found.map(
      ({ id, clientId, deviceName, userAgent, address, createdAt, codesExpireAt }) => ({
        request_id: id,
        client_id: clientId,
        device_name: deviceName,
        ...browserOf(userAgent),
        address,
        created_at: createdAt.toISOString(),
        expires_at: codesExpireAt.toISOString(),
      }),
    );
    return { device_requests };
  }

  /**
   * @param code a user code, or the id of a request that names the caller
   * @throws OAuthError `not_found` also for a request of another user, and for one that was decided
   */
  async decide(code: string, { approve, number }: DecideDto, call: Call): Promise<void> {
    const { caller, origin } = call;
    const { userId } = caller;
    const session = await this.sessions.find(caller);
    await this.proofs.validateOf(session?.jkt ?? null, call.proof);
    const request = await this.find(code, call);
    if (!approve) return this.record(request, { userId, origin });
    checkApprover(session, this.clock.now());
    if (UUID.test(code)) await this.checkNumber(request, number, { userId, origin });
    const user = await this.users.find(userId);
    if (!user) throw noSuchRequest();
    const { provider } = user;
    const approval = { provider, approvedBy: caller.sessionId, identity: call.authentication };
    await this.record(request, { userId, origin, approval });
  }

  private async find(code: string, { caller, ip }: Call): Promise<DeviceRequest> {
    if (UUID.test(code)) {
      const named = await this.requests.findOpen({ id: code.toLowerCase() });
      if (named?.hintedUserId === caller.userId) return named;
      throw noSuchRequest();
    }
    const isForCaller = ({ hintedUserId }: DeviceRequest) =>
      (hintedUserId ?? caller.userId) === caller.userId;
    const request = await this.userCodes.find(code, ip, isForCaller);
    if (request) return request;
    throw noSuchRequest();
  }

  /** A person who does not see the device cannot know its number. */
  private async checkNumber(
    request: DeviceRequest,
    number: string | undefined,
    denial: Decision,
  ): Promise<void> {
    if (number === undefined) throw new OAuthError('invalid_request', 'number is required');
    if (Number(number) === request.number) return;
    await this.record(request, denial);
    throw new OAuthError('access_denied', 'the number is not that of the device: the request was denied');
  }

  private async record({ id }: DeviceRequest, decision: Decision): Promise<void> {
    if (!(await this.requests.decide(id, decision))) throw noSuchRequest();
  }
}

/**
 * @param now milliseconds since the epoch
 * @throws OAuthError if the session may not approve, or only after a new sign-in
 */
function checkApprover(session: Session | null, now: number): void {
  if (session && session.begunAt !== null) {
    throw new OAuthError('access_denied', 'a session that another device has approved approves no other');
  }
  if (session && (session.authTime === null || session.authTime.getTime() > now - MOST_AGE * 1000)) return;
  throw authenticateAgain('sign in again, and then approve within five minutes');
}

function noSuchRequest(): OAuthError {
  return new OAuthError('not_found', 'there is no such request, or it was decided or has expired');
}
