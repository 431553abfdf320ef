import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Origin } from '../../../audit/audit-event.js';
import type { ChannelTransaction } from '../../../channel/channel.history.js';
import { Clock } from '../../../platform/database/clock.js';
import { printable } from '../../../platform/errors/printable.js';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { hashOfName } from '../../../token/sessions/recent-ends.js';
import { endsSessions } from '../event-types.js';
import { ProviderTokens } from '../verify/provider-tokens.js';
import { countBadToken } from '../../../provider/keys/remote-keys.js';
import type { SecurityEvents, Signal } from '../verify/set-claims.js';
import { OtherSubject, type Subject } from '../verify/subject.js';
import { AccountStates, REMEMBERED_DAYS } from './account-states.store.js';
import { ClaimsChange } from './claims-change.js';
import { MeantUsers } from './meant-users.js';
import { ProviderEnds } from './provider-ends.js';
import { SignalQueue } from './signal-queue.js';

/** Sessions that began so many seconds after the event end, too: clocks differ. */
const AFTER_S = 60;

/** Events about an account, whatever session they name. */
const ACCOUNT = /^account-(?:disabled|enabled|purged)$/;

/** What one event has done, in one slice. */
interface Outcome {
  /** For the audit trail. */
  readonly done: string;
  /** User of the audit event. */
  readonly userId?: string | undefined;
  /** Absent: the event ends no sessions. */
  readonly ended?: { readonly subject: Subject; readonly isLast: boolean; readonly count: number };
}

/** Applies the security events of a provider (docs/signals.md). */
@Injectable()
export class Signals {
  constructor(
    private readonly tokens: ProviderTokens,
    private readonly meant: MeantUsers,
    private readonly accounts: AccountStates,
    private readonly claims: ClaimsChange,
    private readonly ends: ProviderEnds,
    private readonly limits: RateLimits,
    private readonly clock: Clock,
    private readonly providers: ProviderRegistry,
    private readonly queue: SignalQueue,
  ) {}

  /**
   * Applies a token; one that was applied before has no effect.
   * @throws SetError for a bad token; another error: it can be sent again
   */
  async receive(provider: string, token: string, origin: Origin, address: string | undefined): Promise<void> {
    const by = { ...origin, actor: { type: 'signal', name: provider } } as const;
    const apply = async (): Promise<void> => {
      const set = await this.tokens.verifySet(provider, token);
      const [{ subject }] = set.signals as [Signal];
      await this.queue.run(provider, JSON.stringify(subject), () => this.apply(provider, set, by));
    };
    await apply().catch(countBadToken(this.limits, 'invalid_request', address));
  }

  private async apply(
    provider: string,
    { issuer, jti, signals }: SecurityEvents,
    origin: Origin,
  ): Promise<void> {
    const tokenHash = hashOfName(provider, 'signal', issuer, jti);
    const until = this.clock.now() / 1000 + REMEMBERED_DAYS * 86_400;
    const counts = signals.map(() => 0);
    let outcomes: Outcome[] = [];
    const isNew = await this.ends.applyOnce(tokenHash, until, async (within) => {
      outcomes = [];
      for (const [i, signal] of signals.entries()) {
        const outcome = await this.applyOne(within, provider, signal, origin);
        counts[i]! += outcome.ended?.count ?? 0;
        outcomes.push(outcome);
      }
      if (outcomes.some(({ ended }) => ended?.isLast === false)) return false;
      for (const [i, { done, userId, ended }] of outcomes.entries()) {
        const { name, type } = signals[i]!;
        const reason = `${name ?? printable(type, 200)}: ${done}${ended ? `: ${counts[i]}` : ''}`;
        await this.ends.record(within.manager, provider, userId, reason, origin);
      }
      return true;
    });
    if (!isNew) return;
    for (const [i, { ended }] of outcomes.entries()) {
      if (!ended) continue;
      const find = async (manager: EntityManager) => {
        const meant = await this.meant.find(manager, provider, ended.subject);
        return meant instanceof OtherSubject ? undefined : meant;
      };
      await this.ends.endLate(find, origin, endOptions(signals[i]!));
    }
  }

  private async applyOne(
    within: ChannelTransaction,
    provider: string,
    signal: Signal,
    origin: Origin,
  ): Promise<Outcome> {
    const { name, time } = signal;
    if (name === 'verification' || name === 'stream-updated') return { done: describeStream(signal) };
    if (name === undefined) return { done: 'recorded only: another event' };
    if (signal.subject instanceof OtherSubject) return { done: `recorded only: ${signal.subject.why}` };
    const { session: _, ...ofUser } = signal.subject;
    const subject = ACCOUNT.test(name) ? ofUser : signal.subject;
    const meant = await this.meant.find(within.manager, provider, subject);
    if (meant instanceof OtherSubject) return { done: `recorded only: ${meant.why}` };
    const { userIds, accounts, session } = meant;
    const [userId] = userIds;
    const isUnknown = userIds.length + accounts.length === 0;
    const ends = this.ending(provider, signal);
    if (isUnknown && !ends) return { done: 'recorded only: no such user', userId };
    const done: string[] = [];
    if (name === 'account-disabled' || name === 'account-enabled') {
      const isDisabled = name === 'account-disabled';
      for (const account of accounts) await this.accounts.save(within.manager, account, isDisabled, time);
      done.push(isDisabled ? 'sign-ins refused' : 'sign-ins permitted');
    }
    if (name === 'token-claims-change') {
      done.push(await this.claims.apply(within, provider, meant, signal, origin));
    }
    if (!ends) return { done: done.join(', ') || 'recorded only', userId };
    const slice = await this.ends.endSlice(within, provider, meant, origin, endOptions(signal));
    if (isUnknown && session === null) done.push('no such user');
    return { done: [...done, 'sessions ended'].join(', '), userId, ended: { subject, ...slice } };
  }

  private ending(provider: string, { name, body }: Signal): boolean {
    const { signals } = this.providers.get(provider).settings;
    return name !== undefined && endsSessions(name, body, signals?.endedBy);
  }
}

function endOptions({ time }: Signal): { readonly cause: 'signal'; readonly until: Date } {
  return { cause: 'signal', until: new Date((time + AFTER_S) * 1000) };
}

/** With the state of a verification, by which its sender recognises it. */
function describeStream({ name, body }: Signal): string {
  const { state, status } = body;
  const said = name === 'verification' ? state : status;
  return typeof said === 'string' ? printable(said, 128) : 'received';
}
