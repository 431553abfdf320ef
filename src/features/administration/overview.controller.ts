import { Controller, Get } from '@nestjs/common';
import { SignInCounts, type CountedHour, type CountedSignIns } from '../../audit/sign-in-counts.js';
import { PresenceStore } from '../../channel/presence.store.js';
import { CachedReading } from '../../platform/database/limits.js';
import { listed } from '../../provider/listed-provider.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { Requires } from '../../platform/http/access.js';
import { Totals } from '../../token/sessions/totals.js';
import type { Overview } from './overview.dto.js';

const DAY_HOURS = 24;
const MOST_REFUSALS = 10;
const ONLINE_MS = 5000;

/** First view of the administration page. */
@Requires('support')
@Controller('admin/overview')
export class OverviewController {
  private readonly online: CachedReading<number>;

  constructor(
    private readonly counts: SignInCounts,
    private readonly totals: Totals,
    private readonly providers: ProviderRegistry,
    presence: PresenceStore,
  ) {
    this.online = new CachedReading(() => presence.countUsers(), ONLINE_MS);
  }

  /**
   * Numbers for the overview of the administration page
   *
   * Of all instances. Sign-ins are those of the audit trail, at most ten seconds old; users and sessions are
   * counted once a minute.
   *
   * @returns The numbers.
   */
  @Get()
  async overview(): Promise<Overview> {
    const [hours, users, usersOnline, liveSessions] = await Promise.all([
      this.counts.read(),
      this.totals.users.get(),
      this.online.get(),
      this.totals.liveSessions.get(),
    ]);
    return {
      hours: hours.map(({ hour, counts }) => ({
        hour: new Date(hour).toISOString(),
        sign_ins: counts ? sum(counts, 'sign_in') : null,
        refusals: counts ? sum(counts, 'sign_in_refused') : null,
      })),
      refusals: mostRefusals(hours.slice(-DAY_HOURS)),
      users,
      users_online: usersOnline,
      live_sessions: liveSessions,
      providers: this.providers.list().map((provider) => {
        const { name, label } = listed(provider);
        const counts = countsOf(hours).filter((one) => one.provider === name);
        const success = latest(counts, 'sign_in');
        const failure = latest(counts, 'sign_in_refused');
        return {
          name,
          label,
          last_success_at: success && new Date(success.last).toISOString(),
          last_failure_at: failure && new Date(failure.last).toISOString(),
          last_error: failure && failure.error,
        };
      }),
    };
  }
}

function countsOf(hours: readonly CountedHour[]): CountedSignIns[] {
  return hours.flatMap(({ counts }) => counts ?? []);
}

function sum(counts: readonly CountedSignIns[], event: CountedSignIns['event']): number {
  return counts.reduce((total, one) => total + (one.event === event ? one.events : 0), 0);
}

function mostRefusals(hours: readonly CountedHour[]): Overview['refusals'] {
  const byError = new Map<string, number>();
  for (const { event, error, events } of countsOf(hours)) {
    const name = error ?? 'other';
    if (event === 'sign_in_refused') byError.set(name, (byError.get(name) ?? 0) + events);
  }
  const all = [...byError].map(([error, count]) => ({ error, count }));
  return all.toSorted((one, other) => other.count - one.count).slice(0, MOST_REFUSALS);
}

function latest(counts: readonly CountedSignIns[], event: CountedSignIns['event']): CountedSignIns | null {
  const own = counts.filter((one) => one.event === event);
  return own.toSorted((one, other) => other.last - one.last)[0] ?? null;
}
