import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Checked, type IdentityChanges, SignInStep, type SignedIn } from '../../../extensions.js';
import { type ScimSettings, scimProviders } from '../scim.settings.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import type { Origin } from '../../../audit/audit-event.js';
import { deriveUserId } from '../../../identity/user-id.js';
import type { SessionIds } from '../../../platform/events.js';
import { Sql } from '../../../platform/database/sql.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { fitClaims, layOver } from '../../../identity/claim-limits.js';
import { areSameClaims } from '../../../identity/claims.js';
import { USER_ID, type Identity } from '../../../provider/identity/identity.js';
import { UserStore } from '../../../user/user.store.js';
import { laidOver, DirectoryRights, type DirectoryClaims } from './directory-claims.js';
import { isSameName, linkByName, linkOf, toNameKey, UNNAMED } from './directory-persons.js';
import { DirectoryTasks } from './directory-tasks.js';
import { FIND_STANDING, type StandingRow } from './standing.sql.js';

declare module '../../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** Whether the directory has the user, who is active; absent if it was not asked. */
    readonly isInDirectory?: boolean;
    /** When the directory has last let the user in: milliseconds since the epoch. */
    readonly activeSince?: number;
  }
}

/** An active directory user. */
interface Standing {
  readonly id: string;
  readonly rights: DirectoryClaims;
  /** Milliseconds since the epoch. */
  readonly activeSince: number;
}

/** What a directory means for sign-ins (docs/directory.md#what-it-does). */
@Injectable()
@SignInStep({ check: 'facts', after: 'judge' })
export class DirectorySignIns implements SignInStep {
  private readonly known: ReturnType<typeof scimProviders>;

  constructor(
    private readonly users: UserStore,
    private readonly rights: DirectoryRights,
    private readonly tasks: DirectoryTasks,
    private readonly signOuts: SignOutService,
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.known = scimProviders(settings);
  }

  /** Refuses who is inactive; else the directory's groups and roles replace the provider's. */
  async check({ provider, identity, userId }: Checked): Promise<IdentityChanges | undefined> {
    const settings = this.known.get(provider);
    if (!settings) return undefined;
    const { proof } = identity;
    // An answer of the provider during a session may lack the claim.
    const name = nameIn(identity, settings) ?? (await this.lastName(userId, settings));
    const user = await this.admitted(provider, userId, name);
    if (!user) return { facts: { isInDirectory: false } };
    const whole = laidOver(proof.claims, user.rights);
    const facts = { isInDirectory: true, activeSince: user.activeSince };
    return { claims: fitClaims(whole).claims, proof: { ...proof, claims: whole }, facts };
  }

  checkAgain(checked: Checked): Promise<IdentityChanges | undefined> {
    return this.check(checked);
  }

  /**
   * Reads the directory again, once the name of the user is stored: a request of it may have been committed
   * since the check, or in the minute before a stock client redeems its code.
   */
  async after({ provider, identity, session, joined, origin }: SignedIn): Promise<void> {
    await this.judge({ provider, identity, userId: session.userId }, session, origin);
    if (!joined) return;
    const userId = deriveUserId(joined.provider, joined.identity.providerUserId);
    await this.judge({ ...joined, userId }, session, origin);
  }

  /** @param person the user of the session, or one whose identity is joined to theirs */
  private async judge(
    { provider, identity, userId }: Checked,
    session: SessionIds,
    origin: Origin,
  ): Promise<void> {
    const settings = this.known.get(provider);
    if (!settings) return;
    const name = nameIn(identity, settings) ?? UNNAMED;
    const { manager } = this.dataSource;
    const link = await linkOf(manager, userId);
    const byDirectory = { ...origin, actor: { type: 'directory', name: provider } } as const;
    try {
      let user = await this.admitted(provider, userId, name);
      const isLinked = user !== undefined && user.id === link;
      if (!isLinked && (await linkByName(manager, { provider, settings }, userId, name, link))) {
        user = await this.admitted(provider, userId, name); // the link holds, too
      }
      if (!user || userId !== session.userId) return; // a joined identity has no claims
      const { claims } = layOver(laidOver(identity.claims, user.rights), identity.overlay);
      if (isLinked && areSameClaims(claims, identity.claims)) return;
      await this.tasks.applyNow({ provider, settings, origin: byDirectory }, user.id);
    } catch (error) {
      if (error instanceof OAuthError) {
        await this.signOuts.signOut('session', session, byDirectory, { cause: 'directory' });
      }
      throw error;
    }
  }

  private async lastName(userId: string, { claim }: ScimSettings): Promise<string | undefined> {
    return (await this.users.find(userId))?.identity?.names?.[claim] ?? undefined;
  }

  /**
   * Returns the directory user with a name; undefined if the directory has none.
   * @throws OAuthError `access_denied` if this directory user is inactive; without one, if the directory user
   *   who had the name, or to whom the user is linked, is inactive or deleted
   */
  private async admitted(
    provider: string,
    userId: string,
    name: string = UNNAMED,
  ): Promise<Standing | undefined> {
    const { attribute } = this.known.get(provider)!;
    const key = toNameKey(attribute, name);
    const rows = await this.sql.query<StandingRow>(FIND_STANDING[attribute], [provider, key, userId]);
    const named = rows.find((row) => row.name !== null && isSameName(attribute, row.name, name));
    const user = named ?? rows.find(({ id }) => id === null);
    if (!user) return undefined;
    if (user.id === null || !user.active) {
      throw new OAuthError('access_denied', 'this account may not sign in', { reason: 'deactivated' });
    }
    const sent = { groups: user.groups ?? undefined, roles: user.roles ?? undefined };
    const { whole } = this.rights.rightsFrom(provider, new Set(user.sources), sent);
    return { id: user.id, rights: whole, activeSince: user.activatedAt!.getTime() };
  }
}

/** Returns who a user is in the directory. A user id is known also without a sign-in since it is on. */
function nameIn({ providerUserId, names }: Identity, { claim }: ScimSettings): string | null | undefined {
  return claim === USER_ID ? providerUserId : names[claim];
}
