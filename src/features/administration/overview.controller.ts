import { Controller, Get } from '@nestjs/common';
import { HOURS, SignInCounts } from '../../audit/sign-in-counts.js';
import { HOUR_MS } from '../../audit/sign-in-tallies.js';
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
    const [{ tallies, countedFrom, firstHour }, users, usersOnline, liveSessions] = await Promise.all([
      this.counts.read(),
      this.totals.users.get(),
      this.online.get(),
      this.totals.liveSessions.get(),
    ]);
    const hours = Array.from({ length: HOURS }, (_, i) => firstHour + i * HOUR_MS);
    return {
      hours: hours.map((hour) => ({
        hour: new Date(hour).toISOString(),
        sign_ins: hour < countedFrom ? null : tallies.sum('sign_in', hour),
        refusals: hour < countedFrom ? null : tallies.sum('sign_in_refused', hour),
      })),
      refusals: tallies.refusals(hours[HOURS - DAY_HOURS]!, MOST_REFUSALS),
      users,
      users_online: usersOnline,
      live_sessions: liveSessions,
      providers: this.providers.list().map((provider) => {
        const { name, label } = listed(provider);
        const { successAt, failureAt, error } = tallies.last(name);
        return {
          name,
          label,
          last_success_at: rfc3339(successAt),
          last_failure_at: rfc3339(failureAt),
          last_error: error,
        };
      }),
    };
  }
}

function rfc3339(time: number): string | null {
  return time === 0 ? null : new Date(time).toISOString();
}
