import type { RequestHandler } from 'express';
import type { Feature } from '../../extensions.js';
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

/** Characters of an address that is read. */
const LONGEST = 2048;

/**
 * Reads the address of a directory as its administrator has entered it, with a slash too many: `//Users`,
 * `/Users/`. The router, the log and the limits see one spelling.
 */
const unifyDirectory: RequestHandler = (request, _response, next) => {
  const [path = '', ...query] = request.url.split('?');
  if (path.length <= LONGEST && /^\/+scim\/+v2\//.test(path)) {
    const single = path.split('/').filter((part) => part !== '');
    request.url = [`/${single.join('/')}`, ...query].join('?');
  }
  next();
};

export const scim: Feature = {
  name: 'scim',
  providerKeys,
  ofProvider: readDirectory,
  checkProviders: refuseSharedTokens,
  isOn: ({ providers }) => [...providers.values()].some((provider) => provider.scim !== undefined),
  module: async () => ({ module: (await import('./scim.module.js')).ScimModule }),
  documented: { PROVIDERS_NAME_SCIM_TOKEN: 'a-token-that-no-directory-has-ever-used' },
  auditNames: ['directory_changed'],
  middleware: async () => unifyDirectory,
  entities: async () => ({
    ...(await import('./users/directory-user.entity.js')),
    ...(await import('./groups/directory-group.entity.js')),
    ...(await import('./effect/directory-link.entity.js')),
    ...(await import('./effect/directory-source.entity.js')),
    ...(await import('./effect/directory-state.entity.js')),
    ...(await import('./effect/directory-task.entity.js')),
    ...(await import('./activity/directory-activity.entity.js')),
  }),
  migrations: () => import('./migrations/1795824000006-scim.js'),
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
