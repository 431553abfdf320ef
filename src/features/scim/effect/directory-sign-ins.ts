import { Inject, Injectable } from '@nestjs/common';
import { type Checked, type IdentityChanges, SignInStep, type SignedIn } from '../../../extensions.js';
import type { ScimSettings } from '../scim.settings.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Sql } from '../../../platform/database/sql.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { fitClaims } from '../../../identity/claim-limits.js';
import { areSameClaims, type Claims } from '../../../identity/claims.js';
import { layOver } from '../../../identity/lay-over.js';
import { allowFacts } from '../../../provider/identity/allow.js';
import type { Identity } from '../../../provider/identity/identity.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { scimProviders } from '../protocol/scim-providers.js';
import { isSameName, toNameKey } from './directory-persons.js';
import { laidOver, DirectoryRights, type DirectoryClaims } from './directory-claims.js';
import { DirectoryNames, UNNAMED } from './directory-name.store.js';
import { DirectoryTasks } from './directory-tasks.js';
import { FIND_STANDING, type StandingRow } from './standing.sql.js';

declare module '../../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** Whether the directory has the user, who is active; absent if it was not asked. */
    readonly isInDirectory?: boolean;
    /** When the directory has last let the user in: milliseconds since the epoch. */
    readonly activeSince?: number;
    /** Those of `claims` that are laid over the provider's, and over the directory's. */
    readonly overlay?: Claims;
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
@SignInStep({ check: 'facts', after: 'judge', keepsProof: true })
export class DirectorySignIns implements SignInStep {
  private readonly known: ReturnType<typeof scimProviders>;

  constructor(
    private readonly names: DirectoryNames,
    private readonly rights: DirectoryRights,
    private readonly tasks: DirectoryTasks,
    private readonly signOuts: SignOutService,
    private readonly providers: ProviderRegistry,
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
    const name = nameIn(identity, settings) ?? (await this.names.find(userId))?.name;
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
   * Keeps the name of the user, and reads the directory again: a request of it may have been committed since
   * the check, or in the minute before a stock client redeems its code.
   */
  async after({ provider, identity, session, origin }: SignedIn): Promise<void> {
    const settings = this.known.get(provider);
    if (!settings) return;
    const { isInDirectory } = identity.facts;
    const name = nameIn(identity, settings) ?? UNNAMED;
    const { userId } = session;
    const before = await this.names.find(userId);
    const ofProvider = this.providers.get(provider).settings;
    const hasFacts = ofProvider.allow !== undefined && isInDirectory !== undefined;
    const facts = hasFacts ? { ...allowFacts(identity, ofProvider), isInDirectory } : null;
    const isNew = before?.name !== name;
    if (isNew || !areSameClaims({ facts: before.facts }, { facts })) {
      const isLinked = Boolean(before?.directoryUserId);
      const directoryUserId = await this.names.findForLink(provider, settings.attribute, name, isLinked);
      await this.names.save({ userId, provider, name, facts }, directoryUserId);
    }
    const byDirectory = { ...origin, actor: { type: 'directory', name: provider } } as const;
    try {
      const user = await this.admitted(provider, userId, name);
      if (!user) return;
      const { claims } = layOver(laidOver(identity.claims, user.rights), identity.facts.overlay ?? {});
      if (!isNew && areSameClaims(claims, identity.claims)) return;
      await this.tasks.applyNow({ provider, settings, origin: byDirectory }, user.id);
    } catch (error) {
      if (error instanceof OAuthError) {
        await this.signOuts.signOut('session', session, byDirectory, { cause: 'directory' });
      }
      throw error;
    }
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

/** Returns who a user is in the directory. */
function nameIn({ providerUserId, rawClaims }: Identity, { claim }: ScimSettings): string | undefined {
  return claim === 'provider_user_id' ? providerUserId : rawClaims[claim];
}
