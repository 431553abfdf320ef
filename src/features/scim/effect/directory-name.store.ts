import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { ScimSettings } from '../scim.settings.js';
import { Events } from '../../../platform/events.js';
import { isSameName, nameOf, toNameKey } from './directory-persons.js';
import { DirectoryFormerName, DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryName } from './directory-name.entity.js';

/** Of a sign-in without `scim_claim`: no directory user has this name. */
export const UNNAMED = '';

/** Which user is who in the directory. */
@Injectable()
export class DirectoryNames {
  constructor(
    @InjectRepository(DirectoryName) private readonly names: Repository<DirectoryName>,
    events: Events,
  ) {
    events.on('audit.recorded', (recorded) => {
      for (const { event, user_id: userId } of recorded) {
        if (event !== 'user_removed' || userId === undefined) continue;
        void this.names.delete({ userId }).catch(() => undefined);
      }
    });
  }

  find(userId: string): Promise<DirectoryName | null> {
    return this.names.findOneBy({ userId });
  }

  /** @param directoryUserId undefined: the user keeps the present link */
  async save(
    name: Pick<DirectoryName, 'userId' | 'provider' | 'name' | 'facts'>,
    directoryUserId?: string,
  ): Promise<void> {
    const row = { ...name, directoryUserId, nameKey: keyOf(name), namedAt: () => 'now()' };
    await this.names.upsert(row as never, ['userId']);
  }

  /**
   * Returns the directory user to link a user to who signs in: the one with the name. If there is none, a
   * user keeps the present link; without a link, it is the one that had the name.
   */
  async findForLink(
    provider: string,
    attribute: ScimSettings['attribute'],
    name: string,
    isLinked: boolean,
  ): Promise<string | undefined> {
    const { manager } = this.names;
    const key = toNameKey(attribute, name);
    const named = attribute === 'userName' ? { userNameKey: key } : { externalId: key };
    const user = await manager.findOneBy(DirectoryUser, { provider, ...named });
    if (user && isSameName(attribute, nameOf(user, attribute)!, name)) return user.id;
    if (isLinked) return undefined;
    return (await manager.findOneBy(DirectoryFormerName, { provider, name: key }))?.directoryUserId;
  }
}

function keyOf({ name }: Pick<DirectoryName, 'name'>): string {
  return toNameKey('userName', name);
}
