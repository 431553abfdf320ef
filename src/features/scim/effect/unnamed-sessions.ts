import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { systemOrigin } from '../../../audit/audit-event.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { ConcurrencyLimit } from '../../../platform/database/limits.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { Events } from '../../../platform/events.js';
import { USER_ID } from '../../../provider/identity/identity.js';
import { UserStore } from '../../../user/user.store.js';
import { scimProviders } from '../scim.settings.js';

/** Users whom an instance remembers as looked up, and for whom calls wait. */
const MOST_KNOWN = 100_000;
const MOST_WAITING = 1000;

/**
 * Ends sessions that began before `scim_claim` was set, right after their next use: of such a user the name
 * in the directory is not known, so that it could not end them (docs/directory.md#who-is-who).
 */
@Injectable()
export class UnnamedSessions implements OnModuleInit {
  private readonly logger = new Logger('Scim');
  private readonly known: ReturnType<typeof scimProviders>;
  /** Users who were looked up, or are being. */
  private readonly seen = new Set<string>();
  private readonly limit = new ConcurrencyLimit(4);

  constructor(
    private readonly users: UserStore,
    private readonly signOuts: SignOutService,
    private readonly events: Events,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.known = scimProviders(settings);
  }

  onModuleInit(): void {
    if ([...this.known.values()].every(({ claim }) => claim === USER_ID)) return;
    this.events.on('session.used', ({ userId }) => {
      if (this.seen.has(userId) || this.limit.waiting >= MOST_WAITING) return;
      if (this.seen.size >= MOST_KNOWN) this.seen.clear();
      this.seen.add(userId);
      this.limit
        .run(() => this.look(userId))
        .catch((error: unknown) => {
          this.seen.delete(userId);
          this.logger.debug({ err: error, msg: 'a session was not looked up: its next use looks again' });
        });
    });
  }

  /** Ends the sessions of a user whose last sign-in has not looked for a name. */
  private async look(userId: string): Promise<void> {
    const user = await this.users.find(userId);
    const settings = user && this.known.get(user.provider);
    if (!settings || settings.claim === USER_ID) return;
    if (Object.hasOwn(user.identity?.names ?? {}, settings.claim)) return;
    const origin = { ...systemOrigin(), actor: { type: 'directory', name: user.provider } } as const;
    const all = { userId, sessionId: null, deviceId: null };
    await this.signOuts.signOut('all', all, origin, { cause: 'directory' });
  }
}
