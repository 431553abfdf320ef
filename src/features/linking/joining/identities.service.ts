import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import { checkAllowed } from '../../../auth/service-endpoint.js';
import { SignInSteps } from '../../../auth/extensions/sign-in-steps.js';
import { SignInRefusals } from '../../../auth/sign-in/sign-in-refusals.js';
import { StateService } from '../../../auth/states/state.service.js';
import { ChannelHistory } from '../../../channel/channel.history.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import type { Verified } from '../../../extensions.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../../platform/events.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { defaultRedirectUri, redirectUriAt } from '../../../provider/redirect-uris.js';
import { SessionStore } from '../../../token/sessions/session.store.js';
import { lockEach, lockWholeUser } from '../../../user/lock-user.js';
import { UserStore } from '../../../user/user.store.js';
import {
  ownView,
  toView,
  type BeginIdentityDto,
  type CompleteIdentityDto,
  type IdentityAuthorization,
  type IdentityList,
  type IdentityView,
} from '../identities/identities.dto.js';
import {
  JoinedIdentities,
  type JoinedIdentity,
  type NewIdentity,
} from '../identities/joined-identities.store.js';
import { MergeTokens } from '../merge/merge-tokens.js';
import { LinkingSessions } from './linking-session.js';

/** Identities that a user may join to their own. */
const MOST_JOINED = 10;

/** State of a joining, as StateService knows it: no other flow, and no other session, can spend it. */
const stateOf = ({ userId, sessionId }: SessionIds, state: string): string =>
  `link ${userId} ${sessionId} ${state}`;

/** Joins identities to users, and parts them (docs/guides/linking.md). */
@Injectable()
export class Identities {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: StateService,
    private readonly steps: SignInSteps,
    private readonly refusals: SignInRefusals,
    private readonly identities: JoinedIdentities,
    private readonly sessions: LinkingSessions,
    private readonly live: SessionStore,
    private readonly tokens: MergeTokens,
    private readonly users: UserStore,
    private readonly history: ChannelHistory,
    private readonly signOuts: SignOutService,
    private readonly audit: AuditStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** @throws OAuthError `not_found` */
  async list(userId: string): Promise<IdentityList> {
    const [user, joined] = await Promise.all([this.users.find(userId), this.identities.find(userId)]);
    if (!user) throw noSuchUser();
    const taken = new Set(joined.map(({ provider }) => provider));
    const links = this.providers.find(user.provider)?.settings.links ?? [];
    const joinable = links.filter((name) => !taken.has(name) && this.providers.find(name));
    return { identities: [ownView(user), ...joined.map(toView)], joinable };
  }

  /** Sends the person to the provider of the other identity. */
  async begin(
    caller: SessionIds,
    { provider: name, redirect_uri }: BeginIdentityDto,
  ): Promise<IdentityAuthorization> {
    const user = await this.users.find(caller.userId);
    if (!user) throw noSuchUser();
    this.requireLink(user, name);
    const provider = this.providers.get(name);
    const redirectUri = redirect_uri ?? defaultRedirectUri(this.settings, provider.settings);
    checkAllowed(this.settings, provider.settings, redirectUri);
    const state = this.states.make();
    const { url, memory = null } = await provider.authorizationUrl({
      state,
      redirectUri: redirectUriAt(this.settings, provider.settings, redirectUri),
      params: { prompt: 'select_account' }, // else the provider may choose the account that the browser knows
    });
    const pending = { provider: name, redirectUri, codeChallenge: null, memory, clientRequest: null };
    await this.states.save(stateOf(caller, state), pending);
    return { redirect_url: url.href, state };
  }

  /**
   * Joins the identity that the person has proved.
   * @throws OAuthError `identity_in_use` with a token for a merge, if it is that of another user
   */
  async complete(caller: SessionIds, params: CompleteIdentityDto, origin: Origin): Promise<IdentityView> {
    const { code, state, iss } = params;
    const pending = await this.states.consume(stateOf(caller, state));
    const { provider: name, memory, requestedAt } = pending;
    const verified = await this.refusals.watch({ origin, provider: name }, async () => {
      const provider = this.providers.get(name);
      const redirectUri = redirectUriAt(this.settings, provider.settings, pending.redirectUri);
      const identity = await provider.exchange({ code, state, redirectUri, iss, memory });
      return { provider: name, identity, requestedAt };
    });
    const admitted = await this.steps.check(verified, origin);
    const joined = toJoined(caller.userId, admitted);
    const taken = await this.join(joined, origin, caller);
    if (taken !== 'taken') return toView({ ...joined, linkedAt: taken });
    const { provider, username, email } = joined;
    const merge_token = await this.tokens.make(caller, joined);
    throw new OAuthError('identity_in_use', 'the identity is that of another user', {
      members: { identity: { provider, username, email }, merge_token },
    });
  }

  /**
   * Joins an identity without a sign-in so far.
   * @throws OAuthError `identity_in_use`, `access_denied`
   */
  async joinByOperator(userId: string, provider: string, id: string, origin: Origin): Promise<IdentityView> {
    this.providers.get(provider);
    const profile = { username: null, email: null, identity: {} };
    const joined = {
      userId,
      provider,
      providerUserId: id,
      identityId: deriveUserId(provider, id),
      ...profile,
    };
    const taken = await this.join(joined, origin);
    if (taken === 'taken') throw inUse();
    return toView({ ...joined, linkedAt: taken });
  }

  /** @throws OAuthError `not_found`; `access_denied` for the user's own identity */
  async part(userId: string, provider: string, origin: Origin): Promise<void> {
    const [user, all] = await Promise.all([this.users.find(userId), this.identities.find(userId)]);
    if (user?.provider === provider)
      throw new OAuthError('access_denied', 'the own identity of a user stays');
    const identity = all.find((one) => one.provider === provider);
    if (!user || !identity) throw noSuchIdentity();
    const cause = 'unlinked';
    const { identityId } = identity;
    await this.signOuts.endEach(await this.live.findJoined(userId, identityId), origin, cause);
    await this.history.transactionOf(userId, async (within) => {
      const { manager, append } = within;
      const [locked] = await lockEach(manager, [userId]);
      const present = (await this.identities.find(userId, manager)).find((one) => one.provider === provider);
      if (!locked || present?.identityId !== identityId) throw noSuchIdentity();
      await this.identities.remove(manager, present);
      const begun = await this.live.findJoined(userId, identityId, manager); // also since the first look
      await this.signOuts.endEachIn(within, begun, origin, cause);
      await append('identities.changed', [[userId, {}]]);
      await this.audit.write(manager, [toFacts('identity_unlinked', present, origin)]);
    });
  }

  /** @throws OAuthError `access_denied` */
  requireLink({ provider }: Pick<JoinedIdentity, 'provider'>, other: string): void {
    if (this.providers.find(provider)?.settings.links?.includes(other)) return;
    throw new OAuthError('access_denied', 'identities of this provider cannot be joined');
  }

  /**
   * @param caller a session, which may have ended while the provider was asked; absent: an operator
   * @returns since when it is joined; `taken`: it is that of another user
   */
  private async join(joined: NewIdentity, origin: Origin, caller?: SessionIds): Promise<Date | 'taken'> {
    const { userId, identityId, provider } = joined;
    return this.history.transactionOf(userId, async ({ manager, append }) => {
      // Of the identity, `add` takes the lock: a parting and a removal have the user's before it.
      const user = await lockWholeUser(manager, userId);
      if (caller) await this.sessions.requireLive(caller, manager);
      if (!user) throw noSuchUser();
      const other = await this.users.findAny(identityId, manager);
      this.requireLink(user, provider);
      if (user.suspendedAt) throw new OAuthError('access_denied', 'the user is suspended');
      const all = await this.identities.find(userId, manager);
      const present = all.find((one) => one.provider === provider);
      if (present && present.identityId === identityId) return present.linkedAt;
      if (other?.mergedInto) throw inUse(); // joined to another user
      if (other?.suspendedAt) throw new OAuthError('access_denied', 'this account may not sign in');
      checkRoom(all, present);
      if (other) return 'taken';
      const linkedAt = await this.identities.add(manager, joined);
      if (!linkedAt) throw inUse();
      await append('identities.changed', [[userId, {}]]);
      await this.audit.write(manager, [toFacts('identity_linked', joined, origin)]);
      return linkedAt;
    });
  }
}

/** @throws OAuthError `invalid_request` if the user has one of this provider, or too many */
export function checkRoom(all: readonly JoinedIdentity[], ofProvider: JoinedIdentity | undefined): void {
  if (ofProvider)
    throw new OAuthError('invalid_request', 'another identity of this provider is joined already');
  if (all.length < MOST_JOINED) return;
  throw new OAuthError('invalid_request', `a user may join ${MOST_JOINED} identities`);
}

export function toJoined(
  userId: string,
  { provider, identity }: Pick<Verified, 'provider' | 'identity'>,
): NewIdentity {
  const { providerUserId, username, email, subject, names } = identity;
  const identityId = deriveUserId(provider, providerUserId);
  const last = { ...(subject !== null && { subject }), ...(Object.keys(names).length > 0 && { names }) };
  return { userId, provider, identityId, providerUserId, username, email, identity: last };
}

type Event = 'identity_linked' | 'identity_unlinked';

function toFacts(event: Event, joined: Omit<JoinedIdentity, 'linkedAt'>, origin: Origin) {
  const { userId, provider, providerUserId } = joined;
  return { event, userId, provider, providerUserId, origin };
}

function noSuchUser(): OAuthError {
  return new OAuthError('not_found', 'there is no such user');
}

function noSuchIdentity(): OAuthError {
  return new OAuthError('not_found', 'the user has no such identity');
}

function inUse(): OAuthError {
  return new OAuthError('identity_in_use', 'the identity is that of another user');
}
