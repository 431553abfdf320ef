import type { Feature } from '../../extensions.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { providerKeys, readDirectory, refuseSharedTokens } from './scim.settings.js';

declare module '../../audit/audit-names.js' {
  interface AuditNames {
    directory_changed: true;
  }
  interface ActorTypes {
    directory: true;
  }
  interface ChangeSources {
    directory: true;
  }
}

declare module '../../platform/events.js' {
  interface EndCauses {
    directory: true;
  }
}

/** Also keeps who users are in directories that are off (docs/directory.md#who-is-who). */
export const scim: Feature = {
  name: 'scim',
  providerKeys,
  ofProvider: readDirectory,
  checkProviders: refuseSharedTokens,
  isOn: (settings) => hasDirectory(settings) || keepsNames(settings),
  module: async (settings) => {
    if (hasDirectory(settings)) return { module: (await import('./scim.module.js')).ScimModule };
    return { module: (await import('./effect/directory-names.module.js')).DirectoryNamesModule };
  },
  documented: { PROVIDERS_NAME_SCIM_TOKEN: 'a-token-that-no-directory-has-ever-used' },
  auditNames: ['directory_changed'],
  middleware: async () => (await import('./protocol/unify-directory.js')).unifyDirectory,
  entities: async () => ({
    ...(await import('./users/directory-user.entity.js')),
    ...(await import('./groups/directory-group.entity.js')),
    ...(await import('./effect/directory-name.entity.js')),
    ...(await import('./effect/directory-source.entity.js')),
    ...(await import('./effect/directory-state.entity.js')),
    ...(await import('./effect/directory-task.entity.js')),
    ...(await import('./activity/directory-activity.entity.js')),
  }),
  migrations: () => import('./migrations/1700000000006-scim.js'),
  work: {
    'apply-directory-tasks': {
      everyMs: 1000,
      failure: 'changes of a directory were not applied to all users: the next try is in a second',
      level: 'warn',
    },
    'write-directory-activity': {
      everyMs: 1000,
      failure: 'the last request of a directory was not written',
    },
  },
};

function hasDirectory({ providers }: Settings): boolean {
  return [...providers.values()].some((provider) => provider.scim !== undefined);
}

function keepsNames({ providers }: Settings): boolean {
  return [...providers.values()].some(({ directoryClaim }) => directoryClaim !== undefined);
}
