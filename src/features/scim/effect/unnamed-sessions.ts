import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { systemOrigin } from '../../../audit/audit-event.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { ConcurrencyLimit } from '../../../platform/database/limits.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { Events } from '../../../platform/events.js';
import { RefreshService } from '../../../token/refresh/refresh.service.js';
import { UserStore } from '../../../user/user.store.js';
import { scimProviders } from '../protocol/scim-providers.js';
import { DirectoryNames } from './directory-name.store.js';

/** Users whom an instance remembers as looked up, and for whom calls other than refreshes wait. */
const MOST_KNOWN = 100_000;
const MOST_WAITING = 1000;

/**
 * Ends sessions that began before `scim_token` was set, at their next use: of such a user the directory's
 * name is not known, so that it could not end them (docs/directory.md#who-is-who). A refresh waits for the
 * answer. Not needed if the name is the user id at the provider.
 */
@Injectable()
export class UnnamedSessions implements OnModuleInit {
  private readonly logger = new Logger('Scim');
  private readonly concerned: ReadonlySet<string>;
  /** Users who have a name, or need none. */
  private readonly known = new Set<string>();
  /** By user. */
  private readonly looks = new Map<string, Promise<boolean>>();
  private readonly limit = new ConcurrencyLimit(4);

  constructor(
    private readonly users: UserStore,
    private readonly names: DirectoryNames,
    private readonly signOuts: SignOutService,
    private readonly events: Events,
    private readonly refreshes: RefreshService,
    @Inject(SETTINGS) settings: Settings,
  ) {
    const all = [...scimProviders(settings)];
    this.concerned = new Set(all.flatMap(([name, { claim }]) => (claim === 'provider_user_id' ? [] : name)));
  }

  onModuleInit(): void {
    if (this.concerned.size === 0) return;
    this.refreshes.addCheck(({ userId }) => this.known.has(userId) || this.isNamed(userId));
    this.events.on('session.used', ({ userId }) => {
      if (this.known.has(userId) || this.limit.waiting >= MOST_WAITING) return;
      this.isNamed(userId).catch((error: unknown) => {
        this.logger.debug({ err: error, msg: 'a session was not looked up: its next use looks again' });
      });
    });
  }

  private isNamed(userId: string): Promise<boolean> {
    const present = this.looks.get(userId);
    if (present) return present;
    const look = this.limit.run(() => this.look(userId)).finally(() => this.looks.delete(userId));
    this.looks.set(userId, look);
    return look;
  }

  /** Ends the sessions of a user without a name. */
  private async look(userId: string): Promise<boolean> {
    const user = await this.users.find(userId);
    if (user && this.concerned.has(user.provider) && !(await this.names.find(userId))) {
      const origin = { ...systemOrigin(), actor: { type: 'directory', name: user.provider } } as const;
      const all = { userId, sessionId: null, deviceId: null };
      await this.signOuts.signOut('all', all, origin, { cause: 'directory' });
      return false;
    }
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    this.known.add(userId);
    return true;
  }
}
