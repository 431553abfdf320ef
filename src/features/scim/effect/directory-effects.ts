import { Injectable } from '@nestjs/common';
import { Any } from 'typeorm';
import type { ChannelTransaction } from '../../../channel/channel.history.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { allowFacts, checkAllow } from '../../../provider/identity/allow.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { claimsOfProvider } from '../../../user/last-identity.js';
import { UserChanges, type ChangedUser, type UserChange } from '../../../user/user-changes.store.js';
import { UserStore } from '../../../user/user.store.js';
import type { Directory } from '../protocol/directory.guard.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryRights, laidOver, NO_RIGHTS, type Rights } from './directory-claims.js';
import { findPersons, hasName, linkPersons, type Person } from './directory-persons.js';
import { DirectoryStates } from './directory-state.store.js';
import type { DirectoryCause, DirectoryTask } from './directory-task.entity.js';

/** The directory that a change is of; also of a task, which has no request. */
export type ChangingDirectory = Pick<Directory, 'provider' | 'settings' | 'origin'>;

/** Transaction of a change. */
export interface DirectoryChange extends ChannelTransaction {
  readonly directory: ChangingDirectory;
  /** Leaves a task, which is written with the change and done after its commit. */
  readonly later: (kind: DirectoryTask['kind'], subject: string) => void;
}

interface Application {
  readonly ends?: boolean;
  readonly hasProfile?: boolean;
  readonly formerName?: string | null;
}

/** All sessions of a user. */
const ALL_SESSIONS = { session: null, subjects: null };

/**
 * What a directory says reaches the users: their claims, their state, and the ends of their sessions, in the
 * transaction of the change.
 */
@Injectable()
export class DirectoryEffects {
  constructor(
    private readonly changes: UserChanges,
    private readonly states: DirectoryStates,
    private readonly rights: DirectoryRights,
    private readonly signOuts: SignOutService,
    private readonly providers: ProviderRegistry,
    private readonly users: UserStore,
  ) {}

  /**
   * Locks directory users, in one order, before their persons are read: a change, and the first sign-in of a
   * person, follow each other.
   */
  async lock(
    { manager, directory: { provider } }: DirectoryChange,
    ids: readonly string[],
  ): Promise<DirectoryUser[]> {
    if (ids.length === 0) return [];
    const lock = { mode: 'for_no_key_update' } as const;
    return manager.find(DirectoryUser, { where: { provider, id: Any(ids) }, order: { id: 'ASC' }, lock });
  }

  /**
   * Applies what the directory says of directory users, who are locked or deleted.
   * @param ends whether the sessions of inactive ones end
   * @param hasProfile whether their profile replaces that of the users
   * @param formerName that the change has given up: users who have it lose their rights
   * @returns the users concerned
   */
  async apply(
    change: DirectoryChange,
    directoryUsers: readonly DirectoryUser[],
    { ends = false, hasProfile = false, formerName }: Application = {},
  ): Promise<string[]> {
    const { manager, directory } = change;
    if (directoryUsers.length === 0) return [];
    const persons = await findPersons(manager, directory, directoryUsers);
    const byUserId = new Map(persons.map((person) => [person.userId, person]));
    let rights: ReadonlyMap<string, Rights> = new Map();
    let former: ReadonlySet<string> = new Set();
    const read = async (locked: readonly ChangedUser[]): Promise<ReadonlyMap<string, UserChange>> => {
      const losing = new Set(
        locked.filter((user) => hasName(user, formerName, directory.settings)).map(({ userId }) => userId),
      );
      const unnamed = persons.filter(
        (one) => !one.isNamed && one.directoryUser.active && losing.has(one.userId),
      );
      former = await this.states.forget(manager, unnamed);
      rights = await this.rights.of(manager, directory.provider, directoryUsers);
      const changeOf = ({ userId, isNamed, directoryUser }: Person): UserChange => {
        if (!isNamed) return former.has(userId) ? { claims: withoutRights } : {};
        const { fitting: inToken } = rights.get(directoryUser.id)!;
        const claims: UserChange['claims'] = (present) => laidOver(present, inToken);
        return { claims, profile: hasProfile ? profileOf(directoryUser) : undefined };
      };
      return new Map(persons.map((person) => [person.userId, changeOf(person)]));
    };
    const userIds = [...byUserId.keys()];
    const users = await this.changes.apply(change, userIds, read, directory.origin, 'directory');
    const changed = users.map((user) => Object.assign({}, user, byUserId.get(user.userId)!));
    await this.states.write(
      manager,
      changed.filter(({ isNamed, directoryUser }) => isNamed || !directoryUser.active),
    );
    await linkPersons(manager, changed);
    const causeOf = (person: Person & ChangedUser): DirectoryCause | undefined => {
      const { userId, isNamed, directoryUser } = person;
      if (!directoryUser.active) return ends ? 'directory' : undefined;
      const whole = isNamed ? rights.get(directoryUser.id)!.whole : undefined;
      const isConcerned = isNamed || former.has(userId);
      return isConcerned && this.isRefused(directory, person, whole) ? 'not_allowed' : undefined;
    };
    await this.end(change, changed, causeOf);
    const reached = changed.map(({ userId }) => userId);
    const inactive = ends ? persons.filter(({ directoryUser }) => !directoryUser.active) : [];
    const others = inactive.flatMap(({ userId }) => (reached.includes(userId) ? [] : userId));
    // After the commit: no lock makes a sign-in by a joined identity wait, which reads the directory again.
    for (const userId of await this.users.findMerged(manager, others)) change.later('directory', userId);
    return reached;
  }

  /**
   * Ends the sessions of one user with the change; those of more users, or of a user with many, by tasks: a
   * transaction that ends sessions of several users would lock their channels in another order than a push.
   */
  private async end(
    change: DirectoryChange,
    changed: readonly (Person & ChangedUser)[],
    causeOf: (person: Person & ChangedUser) => DirectoryCause | undefined,
  ): Promise<void> {
    const { origin } = change.directory;
    for (const person of changed) {
      const cause = causeOf(person);
      if (cause === undefined) continue;
      const { userId } = person;
      const end = () =>
        this.signOuts.endSliceOf([userId], ALL_SESSIONS, change, origin, { cause, until: null });
      // After the commit, if a sign-in meanwhile may have read what was allowed before.
      const isLater = cause === 'not_allowed' || changed.length > 1;
      if (isLater || !(await end()).isLast) change.later(cause, userId);
    }
  }

  /**
   * Returns whether `allow` does not cover a user any more.
   * @param rights also without a place in a token; undefined: the directory does not know the user
   */
  private isRefused(
    { provider }: ChangingDirectory,
    user: ChangedUser,
    rights: Rights['whole'] | undefined,
  ): boolean {
    const { settings } = this.providers.get(provider);
    const { providerUserId, identity, lastSeenAt } = user;
    if (!settings.allow || lastSeenAt === null) return false; // or there was no sign-in yet
    const { email = null, isEmailVerified = false, hostedDomain } = identity ?? {};
    const claims = laidOver(identity?.claims ?? claimsOfProvider(user), rights ?? NO_RIGHTS);
    const proof = { isEmailVerified, hostedDomain, claims };
    const facts = allowFacts({ providerUserId, email, proof }, settings);
    return !checkAllow(settings.allow, { ...facts, isInDirectory: rights !== undefined }).isAllowed;
  }
}

/** Of a person whom the directory does not know any more: fewer rights until the next sign-in. */
function withoutRights({ groups: _groups, roles: _roles, ...others }: Readonly<Record<string, unknown>>) {
  return others;
}

const LONGEST = 255;

/** The profile as a sign-in would set it. */
export function profileOf({ resource }: DirectoryUser): NonNullable<UserChange['profile']> {
  const { displayName, name, emails = [], userName } = resource;
  const parts = [name?.['givenName'], name?.['familyName']].filter((part) => part !== undefined).join(' ');
  const username = displayName ?? name?.['formatted'] ?? (parts || userName);
  const email =
    emails.find(({ primary }) => primary) ?? emails.find(({ type }) => type === 'work') ?? emails[0];
  return { username: fitting(username), email: fitting(email?.value) };
}

function fitting(text: string | undefined): string | null {
  return text !== undefined && Array.from(text).length <= LONGEST ? text : null;
}
