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
  private readonly concerned: ReadonlySet<string>;

  constructor(
    private readonly names: DirectoryNames,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.concerned = keepingProviders(settings);
  }

  async after({ provider, identity, session: { userId } }: SignedIn): Promise<void> {
    if (!this.concerned.has(provider)) return;
    const { directoryName: name = UNNAMED } = identity;
    if ((await this.names.find(userId))?.name === name) return;
    await this.names.save({ userId, provider, name, facts: null });
  }
}

/** Returns the providers whose directory is off, but has a name for each user. */
function keepingProviders({ providers }: Pick<Settings, 'providers'>): ReadonlySet<string> {
  const all = [...providers].filter(([, { scim, directoryClaim }]) => !scim && directoryClaim !== undefined);
  return new Set(all.map(([name]) => name));
}
