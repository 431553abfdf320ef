import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { systemOrigin } from '../../audit/audit-event.js';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { ConcurrencyLimit } from '../../database/limits.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { Events, type SessionIds } from '../../events.js';
import { UserStore } from '../../user/user.store.js';
import { scimProviders } from '../protocol/scim-providers.js';
import { DirectoryNames } from './directory-name.store.js';

/** Users whom an instance remembers as looked up, and looks up at a time. */
const MOST_KNOWN = 100_000;
const MOST_WAITING = 1000;

/**
 * Ends sessions that began before `scim_token` was set, at their next use: of such a user the directory's
 * name is not known, so that it could not end them (docs/directory.md#who-is-who). Not needed if the name is
 * the user id at the provider.
 */
@Injectable()
export class UnnamedSessions implements OnModuleInit {
  private readonly logger = new Logger('Scim');
  private readonly concerned: ReadonlySet<string>;
  private readonly known = new Set<string>();
  private readonly limit = new ConcurrencyLimit(2);

  constructor(
    private readonly users: UserStore,
    private readonly names: DirectoryNames,
    private readonly signOuts: SignOutService,
    private readonly events: Events,
    @Inject(SETTINGS) settings: Settings,
  ) {
    const all = [...scimProviders(settings)];
    this.concerned = new Set(all.flatMap(([name, { claim }]) => (claim === 'provider_user_id' ? [] : name)));
  }

  onModuleInit(): void {
    if (this.concerned.size > 0) this.events.on('session.used', (session) => this.look(session));
  }

  private look(session: SessionIds): void {
    const { userId } = session;
    if (this.known.has(userId) || this.limit.waiting >= MOST_WAITING) return;
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    this.known.add(userId);
    this.limit
      .run(() => this.endIfUnnamed(session))
      .catch((error: unknown) => {
        this.known.delete(userId); // the next use looks again
        this.logger.debug({ err: error, msg: 'a session was not looked up' });
      });
  }

  private async endIfUnnamed({ userId }: SessionIds): Promise<void> {
    const user = await this.users.find(userId);
    if (!user || !this.concerned.has(user.provider) || (await this.names.find(userId))) return;
    const origin = { ...systemOrigin(), actor: { type: 'directory', name: user.provider } } as const;
    const all = { userId, sessionId: null, deviceId: null };
    await this.signOuts.signOut('all', all, origin, { cause: 'directory' });
  }
}
