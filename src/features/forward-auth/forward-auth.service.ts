import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../platform/database/clock.js';
import { describeCuts } from '../../identity/claim-limits.js';
import { listClaim, pickClaims, type Claims } from '../../identity/claims.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { VerifiedToken } from '../../token/access-tokens/access-token.verifier.js';
import { Audiences, type Audience } from '../../token/access-tokens/audiences.js';
import { ClaimsStore } from '../../user/claims.store.js';
import type { ForwardAuthDto } from './forward-auth.dto.js';
import { identityHeaders, MOST_BYTES } from './identity-headers.js';

/** Logged cuts of headers, by user and version of the claims. */
const MOST_LOGGED = 10_000;

/** Seconds, as at a sign-in (docs/guides/step-up.md#from-the-provider). */
const TOLERANCE_S = 60;

/** How and when the user authenticated, as the access token says. */
export interface Authentication {
  readonly auth_time?: number | undefined;
  readonly acr?: string | undefined;
}

@Injectable()
export class ForwardAuth {
  private readonly logger = new Logger(ForwardAuth.name);
  private readonly logged = new Set<string>();

  constructor(
    private readonly claims: ClaimsStore,
    private readonly clock: Clock,
    private readonly audiences: Audiences,
  ) {}

  /**
   * Returns the headers for the API, if the user meets the requirements. Logs once if they had to be cut.
   * @throws OAuthError `invalid_request`, `insufficient_scope` or `insufficient_user_authentication`
   */
  async headersFor(
    verified: VerifiedToken,
    needed: ForwardAuthDto,
  ): Promise<Readonly<Record<string, string>>> {
    const { session, claims: token, claimsVersion } = verified;
    const audience = this.audienceOf(needed);
    const current = await this.claims.current(session.userId, claimsVersion);
    const claims = audience ? pickClaims(current.effective, audience.claims) : current.effective;
    requireLists(needed, claims);
    requireRecent(needed, token, this.clock.now() / 1000);
    requireScope(needed, token);
    const caller = audience ? ofProgram(verified, audience) : verified;
    const { headers, cuts } = identityHeaders(caller, claims, needed.claims !== undefined);
    const which = `${session.userId} ${claimsVersion} ${cuts.length}`;
    if (cuts.length > 0 && !this.logged.has(which)) {
      if (this.logged.size === MOST_LOGGED) this.logged.clear();
      this.logged.add(which);
      const what = `headers beyond ${MOST_BYTES} bytes`;
      this.logger.warn(`user_id ${session.userId}: ${describeCuts(cuts, undefined, what)}`);
    }
    return headers;
  }

  /** @returns undefined for a token of the application */
  private audienceOf({ resource, scope }: ForwardAuthDto): Audience | undefined {
    const audience = this.audiences.find(resource);
    if (resource === undefined ? scope === undefined : audience) return audience;
    throw new OAuthError(
      'invalid_request',
      'resource is missing, or is none of protected_resources in the metadata',
    );
  }
}

/** The API gets of the profile what it gets of the claims. */
function ofProgram({ session, username, email, claims: token }: VerifiedToken, { claims }: Audience) {
  return {
    session,
    ...(claims.includes('preferred_username') && { username: username ?? null }),
    ...(claims.includes('email') && { email: email ?? null }),
    program: { clientId: token.client_id, scope: token.scope ?? '' },
  };
}

/** @throws OAuthError `insufficient_scope` with all scopes to ask for: granted and missing ones */
function requireScope({ scope }: ForwardAuthDto, token: { readonly scope?: string }): void {
  const granted = (token.scope ?? '').split(' ').filter((one) => one !== '');
  const missing = (scope?.split(' ') ?? []).filter((one) => !granted.includes(one));
  if (missing.length === 0) return;
  const wanted = [...granted, ...missing].join(' ');
  throw new OAuthError('insufficient_scope', 'the program was not granted this scope', {
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${wanted}"` },
  });
}

/** @throws OAuthError `insufficient_scope` without one of the roles, or one of the groups */
export function requireLists({ role, group }: ForwardAuthDto, claims: Claims): void {
  if (hasOne(claims, 'roles', role) && hasOne(claims, 'groups', group)) return;
  throw new OAuthError('insufficient_scope', 'the user does not have the right to do this', {
    headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
  });
}

/** @param now seconds since the epoch @throws OAuthError `insufficient_user_authentication` */
export function requireRecent(
  { max_age, acr }: ForwardAuthDto,
  { auth_time, acr: found }: Authentication,
  now: number,
): void {
  const age = auth_time === undefined ? Infinity : now - auth_time;
  const isRecent = max_age === undefined || (age <= Number(max_age) + TOLERANCE_S && age >= -TOLERANCE_S);
  if (isRecent && (acr === undefined || (found !== undefined && acr.split(' ').includes(found)))) return;
  const needed = [
    'error="insufficient_user_authentication"',
    ...(max_age === undefined ? [] : [`max_age="${Number(max_age)}"`]),
    ...(acr === undefined ? [] : [`acr_values="${acr}"`]),
  ];
  throw new OAuthError('insufficient_user_authentication', 'the user has to sign in again for this', {
    headers: { 'WWW-Authenticate': `Bearer ${needed.join(', ')}` }, // RFC 9470 §3
  });
}

function hasOne(claims: Claims, list: string, needed: string | string[] | undefined): boolean {
  if (needed === undefined) return true;
  const found = new Set(listClaim(claims, list));
  return [needed].flat().some((one) => found.has(one));
}
