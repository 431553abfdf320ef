import { randomBytes, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Declared } from '../../platform/declared.js';
import { Clock } from '../../platform/database/clock.js';
import { DatabaseBusy } from '../../platform/database/limits.js';
import { SignOutService } from '../../device/sign-out.service.js';
import type { SessionIds } from '../../platform/events.js';
import { cleanUserAgent } from '../../platform/http/user-agent.js';
import { deriveUserId } from '../../identity/user-id.js';
import type { Identity, IdentityFacts } from '../../provider/identity/identity.js';
import {
  AccessTokens,
  type Delegation,
  type IssuedAccessToken,
  type TokenContent,
} from '../../token/access-tokens/access-token.js';
import type { DpopProof } from '../../token/dpop/dpop-proofs.js';
import {
  DELEGATED,
  hashRefreshToken,
  makeRefreshToken,
  type Authentication,
} from '../../token/refresh/refresh-token.js';
import { mayEndEarly, toSessionEnds } from '../../token/refresh/refresh.dto.js';
import { IdTokens } from '../../token/sessions/id-tokens.js';
import { hashIfNamed, RecentEnds } from '../../token/sessions/recent-ends.js';
import { ClaimsStore } from '../../user/claims.store.js';
import type { DeviceDto, IssuedTokens } from '../token.dto.js';
import { SignInSteps, checkExpiry, type Verified } from '../extensions/sign-in-steps.js';
import { endedMeanwhile, OtherUser, SignInStore } from './sign-in.store.js';
import { SignInRefusals } from './sign-in-refusals.js';
import type { SignIn } from './sign-in-columns.js';

/** Request, besides its parameters. */
export interface Call {
  /** Validated; the session is bound to its key. */
  readonly proof: DpopProof | undefined;
  readonly origin: Origin;
  /** The session is for a program; absent: for the application itself. */
  readonly delegated?: {
    readonly delegation: Delegation;
    /** Seconds to the end of the session. */
    readonly ttl: number;
  };
  /** For the steps after the sign-in: what it is for. */
  readonly facts?: IdentityFacts;
}

/** Attempts to write a sign-in, while other instances change the claims of the user. */
const TRIES = 5;

/** Last step of each sign-in: writes user, device and session, and issues the tokens. */
@Injectable()
export class SignInService {
  private readonly mayEndEarly: boolean;

  constructor(
    private readonly accessTokens: AccessTokens,
    private readonly signIns: SignInStore,
    private readonly idTokens: IdTokens,
    private readonly ends: RecentEnds,
    private readonly signOuts: SignOutService,
    private readonly claims: ClaimsStore,
    private readonly refusals: SignInRefusals,
    private readonly steps: SignInSteps,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
    declared: Declared,
  ) {
    this.mayEndEarly = mayEndEarly(settings, declared);
  }

  /** @throws OAuthError `invalid_grant` if the user was signed out since the request to the provider */
  async issue(verified: Verified, device: DeviceDto, call: Call): Promise<IssuedTokens> {
    const issued = await this.begin(verified, device, call);
    if (!(issued instanceof OtherUser)) return issued;
    const other = await this.steps.checkJoined(verified, issued.userId, call, device);
    const again = await this.begin(other, device, call);
    if (again instanceof OtherUser) throw endedMeanwhile(); // that user was merged since
    return again;
  }

  /** @returns OtherUser if the identity is joined to that of this user; nothing is written then */
  private begin(
    verified: Verified,
    device: DeviceDto,
    { proof, origin, delegated, facts }: Call,
  ): Promise<IssuedTokens | OtherUser> {
    const { provider, identity, requestedAt, begunAt, restsOn, joined } = verified;
    const proven = joined ?? verified;
    const { providerUserId } = proven.identity;
    const userId = deriveUserId(provider, identity.providerUserId);
    const deviceId = device.device_id?.toLowerCase() ?? null;
    const known = { origin, provider: proven.provider, providerUserId, userId, deviceId };
    return this.refusals.watch(known, async () => {
      const now = this.clock.now();
      checkExpiry(identity, now); // again: the code of a stock client may have waited
      const session = { userId, sessionId: randomUUID(), deviceId };
      const authentication = toAuthentication(identity);
      const jkt = proof?.jkt ?? null;
      const refreshTokenTtl = delegated?.ttl ?? this.settings.refreshTokenTtl;
      const { sessionIdleTtl = null } = this.settings;
      const idleTtl = delegated ? null : sessionIdleTtl;
      const lifetime = (identity.sessionExpiry ?? Infinity) - now / 1000;
      const isEarly = lifetime < refreshTokenTtl;
      const ttl = isEarly ? lifetime : refreshTokenTtl;
      const isLimited = isEarly || this.mayEndEarly || delegated !== undefined;
      const latest = isLimited ? now / 1000 + Math.min(ttl, idleTtl ?? ttl) : undefined;
      const refreshToken = makeRefreshToken(session, jkt !== null, authentication, delegated && DELEGATED);
      const written = await this.signAndRecord(
        { authentication, proof, latest, delegation: delegated?.delegation },
        {
          session,
          provider,
          identity,
          joined,
          requestedAt,
          begunAt,
          deviceName: device.device_name ?? null,
          userAgent: cleanUserAgent(device.user_agent) ?? origin.userAgent,
          providerSubject: restsOn
            ? restsOn.providerSubject
            : hashIfNamed(proven.provider, proven.identity.subject),
          providerSession: delegated
            ? randomBytes(32) // the end of the browser's session at the provider does not mean this one
            : restsOn
              ? restsOn.providerSession
              : hashIfNamed(proven.provider, proven.identity.session),
          idToken: delegated ? null : this.idTokens.encrypt(proven.identity.idToken, session.sessionId),
          isDelegated: delegated !== undefined,
          jkt,
          origin,
          refreshTokenHash: hashRefreshToken(refreshToken, jkt),
          refreshTokenTtl,
          idleTtl,
          sessionExpiry: isEarly ? identity.sessionExpiry : null,
        },
      );
      if (written instanceof OtherUser) return written;
      const { accessToken, isFirst } = written;
      await this.endIfEnded(verified, session, isFirst, origin);
      await this.steps.after({
        provider,
        identity: { ...identity, facts: { ...identity.facts, ...facts } },
        requestedAt,
        ...(joined && { joined }),
        session,
        origin,
      });
      return {
        access_token: accessToken.token,
        token_type: 'Bearer',
        refresh_token: refreshToken,
        expires_in: accessToken.expiresIn,
        user_id: userId,
        ...(isLimited && toSessionEnds(ttl, idleTtl)),
      };
    });
  }

  /** Signs a token with the user's claims, and records the sign-in; again, if the claims have changed. */
  private async signAndRecord(
    token: Pick<TokenContent, 'authentication' | 'proof' | 'latest' | 'delegation'>,
    signIn: Omit<SignIn, 'accessToken' | 'claims'>,
  ): Promise<{ readonly accessToken: IssuedAccessToken; readonly isFirst: boolean } | OtherUser> {
    const { session, identity, provider } = signIn;
    for (let left = TRIES; left > 0; left--) {
      const claims = await this.claims.atSignIn(session.userId, provider, identity.claims, signIn.origin);
      const accessToken = this.accessTokens.issue(session, { ...token, claims: claims.effective });
      const recorded = await this.signIns.record({ ...signIn, accessToken, claims });
      if (recorded instanceof OtherUser) return recorded;
      if (recorded) return { accessToken, isFirst: recorded.isFirst };
      await this.claims.find(session.userId); // for the next attempt
    }
    throw new DatabaseBusy('the claims of the user change too often');
  }

  /** Ends a session that was committed before SIGN_IN could see an end of this user or by these names. */
  private async endIfEnded(
    { requestedAt, restsOn, joined, ...own }: Verified,
    session: SessionIds,
    isFirst: boolean,
    origin: Origin,
  ): Promise<void> {
    if (restsOn) return; // an end of that session is an end of this one
    const { provider, identity } = joined ?? own;
    const newUserId = isFirst ? session.userId : undefined;
    if (!(await this.ends.since(requestedAt, { provider, identity, newUserId }))) return;
    const byProvider = { ...origin, actor: { type: 'provider', name: provider } } as const;
    await this.signOuts.signOut('session', session, byProvider, { cause: 'provider_ended' });
    throw endedMeanwhile();
  }
}

/** Returns the claims of the tokens (RFC 9068 §2.2.1); undefined if the provider reports none. */
function toAuthentication({ authTime, acr, amr }: Identity): Authentication | undefined {
  if (authTime === null && acr === null && amr === null) return undefined;
  return {
    ...(authTime !== null && { auth_time: Math.floor(authTime) }),
    ...(acr !== null && { acr }),
    ...(amr !== null && { amr }),
  };
}
