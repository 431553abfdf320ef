import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import { ChannelHistory, type ChannelTransaction } from '../../../channel/channel.history.js';
import { Clock } from '../../../platform/database/clock.js';
import { printable } from '../../../platform/errors/printable.js';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import { forgetToken, hashOfName, rememberToken } from '../../../token/sessions/recent-ends.js';
import { isOfUnknownKey } from '../logout/remote-keys.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { lockUser } from '../../../user/lock-user.js';
import { endsSessions } from '../receiver/event-types.js';
import type { SecurityEvents, Signal } from '../receiver/set-claims.js';
import { SetError } from '../receiver/set-error.js';
import { SetTokens } from '../receiver/set-tokens.js';
import { OtherSubject, type Subject } from '../receiver/subject.js';
import { AccountStates, REMEMBERED_DAYS } from './account-states.store.js';
import { ClaimsChange } from './claims-change.js';
import { MeantUsers, type Meant } from './meant-users.js';
import { SignalEndings } from './signal-endings.js';
import { SignalQueue } from './signal-queue.js';

/** Sessions that began so many seconds after the event end, too: clocks differ. */
const AFTER_S = 60;

/** Events about an account, whatever session they name. */
const ACCOUNT = /^account-(?:disabled|enabled|purged)$/;

/** What one event has done. */
interface Outcome {
  readonly meant: Meant | undefined;
  /** Subject without what the event does not depend on. */
  readonly subject?: Subject;
  readonly isLast: boolean;
  readonly count: number;
  /** For the audit trail. */
  readonly done: string;
}

/** Applies the security events of a provider (docs/signals.md). */
@Injectable()
export class Signals {
  constructor(
    private readonly tokens: SetTokens,
    private readonly meant: MeantUsers,
    private readonly accounts: AccountStates,
    private readonly claims: ClaimsChange,
    private readonly endings: SignalEndings,
    private readonly history: ChannelHistory,
    private readonly audit: AuditStore,
    private readonly limits: RateLimits,
    private readonly clock: Clock,
    private readonly providers: ProviderRegistry,
    private readonly queue: SignalQueue,
  ) {}

  /**
   * Applies a token; one that was applied before has no effect. Bad tokens are counted, good ones never
   * refused.
   * @throws SetError for a bad token; another error: it can be sent again
   */
  async receive(provider: string, token: string, origin: Origin, address: string | undefined): Promise<void> {
    const by = { ...origin, actor: { type: 'signal', name: provider } } as const;
    try {
      const set = await this.tokens.verify(provider, token);
      const [{ subject }] = set.signals as [Signal];
      await this.queue.run(provider, JSON.stringify(subject), () => this.apply(provider, set, by));
    } catch (error) {
      if (error instanceof SetError || isOfUnknownKey(error)) await this.limits.count('bad_token', address);
      throw error;
    }
  }

  private async apply(
    provider: string,
    { issuer, jti, signals }: SecurityEvents & { readonly issuer: string },
    origin: Origin,
  ): Promise<void> {
    const now = this.clock.now() / 1000;
    const tokenHash = hashOfName(provider, 'signal', issuer, jti);
    const counts = signals.map(() => 0);
    let outcomes: readonly Outcome[] | 'used' = [];
    do {
      outcomes = await this.history.transaction(async (within) => {
        const { manager } = within;
        // First, so that two requests with one token wait for each other.
        if (!(await rememberToken(manager, tokenHash, now + REMEMBERED_DAYS * 86_400))) return 'used';
        const slice: Outcome[] = [];
        for (const signal of signals) slice.push(await this.applyOne(within, provider, signal, origin));
        for (const [i, { count }] of slice.entries()) counts[i]! += count;
        if (slice.some(({ isLast }) => !isLast)) await forgetToken(manager, tokenHash);
        else await this.record(within, provider, signals, slice, counts, origin);
        return slice;
      });
    } while (outcomes !== 'used' && outcomes.some(({ isLast }) => !isLast));
    if (outcomes === 'used') return;
    for (const [i, signal] of signals.entries()) {
      const { meant, subject } = outcomes[i]!;
      if (!meant || !subject || !this.ends(provider, signal)) continue;
      const find = (manager: EntityManager) => this.meant.find(manager, provider, subject);
      await this.endings.endLate(find, origin, lastBegin(signal));
    }
  }

  private async applyOne(
    within: ChannelTransaction,
    provider: string,
    signal: Signal,
    origin: Origin,
  ): Promise<Outcome> {
    const { name, subject, time } = signal;
    const recorded = (done: string) => ({ meant: undefined, isLast: true, count: 0, done });
    if (name === 'verification' || name === 'stream-updated') return recorded(describeStream(signal));
    if (name === undefined) return recorded('recorded only: another event');
    if (subject instanceof OtherSubject) return recorded(`recorded only: ${subject.why}`);
    const { manager } = within;
    const { session: _, ...ofUser } = subject;
    const whole = ACCOUNT.test(name) ? ofUser : subject;
    const meant = await this.meant.find(manager, provider, whole);
    if (meant instanceof OtherSubject) return recorded(`recorded only: ${meant.why}`);
    const isUnknown = meant.userIds.length + meant.accounts.length === 0;
    if (isUnknown && !this.ends(provider, signal)) return recorded('recorded only: no such user');
    const done: string[] = [];
    if (name === 'account-disabled' || name === 'account-enabled') {
      const isDisabled = name === 'account-disabled';
      for (const account of meant.accounts) await this.accounts.save(manager, account, isDisabled, time);
      done.push(isDisabled ? 'sign-ins refused' : 'sign-ins permitted');
    }
    if (name === 'token-claims-change') {
      done.push(await this.claims.apply(within, provider, meant, signal, origin));
    }
    if (!this.ends(provider, signal)) return { meant, isLast: true, count: 0, done: done.join(', ') };
    const slice = await this.endings.endSlice(within, provider, meant, origin, lastBegin(signal));
    if (isUnknown && meant.session === null) done.push('no such user');
    return { meant, subject: whole, ...slice, done: [...done, 'sessions ended: '].join(', ') };
  }

  private ends(provider: string, { name, body }: Signal): boolean {
    if (name === undefined || !endsSessions(name, body)) return false;
    const { signals } = this.providers.get(provider).settings;
    return signals?.endedBy?.includes(name) ?? true;
  }

  private async record(
    { manager }: ChannelTransaction,
    provider: string,
    signals: readonly Signal[],
    outcomes: readonly Outcome[],
    counts: readonly number[],
    origin: Origin,
  ): Promise<void> {
    for (const [i, { name, type }] of signals.entries()) {
      const { meant, done } = outcomes[i]!;
      const [userId] = meant?.userIds ?? [];
      const isKnown = userId !== undefined && (await lockUser(manager, userId)) !== undefined;
      const what = done.endsWith(': ') ? `${done}${counts[i]}` : done || 'recorded only';
      const reason = `${name ?? printable(type, 200)}: ${what}`;
      await this.audit.write(manager, [
        { event: 'signal_received', userId: isKnown ? userId : null, provider, reason, origin },
      ]);
    }
  }
}

function lastBegin({ time }: Signal): Date {
  return new Date((time + AFTER_S) * 1000);
}

/** With the state of a verification, by which its sender recognises it. */
function describeStream({ name, body }: Signal): string {
  const { state, status } = body;
  const said = name === 'verification' ? state : status;
  return typeof said === 'string' ? printable(said, 128) : 'received';
}
