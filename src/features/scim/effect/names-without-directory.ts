import { Inject, Injectable } from '@nestjs/common';
import { SignInStep, type SignedIn } from '../../../extensions.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { DirectoryNames, UNNAMED } from './directory-name.store.js';

/**
 * Keeps who users are in a directory that is off, so that no session ends once it is turned on
 * (docs/directory.md#who-is-who).
 */
@Injectable()
@SignInStep({ after: 'keep' })
export class NamesWithoutDirectory implements SignInStep {
  /** Claims with the names, by provider. */
  private readonly claims: ReadonlyMap<string, string>;

  constructor(
    private readonly names: DirectoryNames,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.claims = claimsOf(settings);
  }

  async after({ provider, identity, session: { userId } }: SignedIn): Promise<void> {
    const claim = this.claims.get(provider);
    if (claim === undefined) return;
    const name = identity.rawClaims[claim] ?? UNNAMED;
    if ((await this.names.find(userId))?.name === name) return;
    await this.names.save({ userId, provider, name, facts: null });
  }
}

/** Returns the claims of the providers whose directory is off, but has a name for each user. */
function claimsOf({ providers }: Pick<Settings, 'providers'>): ReadonlyMap<string, string> {
  const all = [...providers].map(([name, { scim, directoryClaim }]) => [
    name,
    scim ? undefined : directoryClaim,
  ]);
  return new Map(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
