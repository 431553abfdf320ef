import { Controller, Get, Inject, Param } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { CachedReading } from '../../../platform/database/limits.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { Requires } from '../../../platform/http/access.js';
import { DirectoryTask } from '../effect/directory-task.entity.js';
import { DirectoryGroup } from '../groups/directory-group.entity.js';
import { scimAddress, scimProviders } from '../scim.settings.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryActivity } from './directory-activity.entity.js';
import type { Synchronisation } from './synchronisation.dto.js';

/** Of 500,000 users a count takes some 50 ms. */
const FRESH_MS = 2000;

/** The directory of a provider, as support people see it. */
@Requires('support')
@Controller('admin/providers/:name/directory')
export class SynchronisationController {
  private readonly readings: ReadonlyMap<string, CachedReading<Synchronisation>>;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(SETTINGS) settings: Settings,
  ) {
    const entries = [...scimProviders(settings)].map(([name, { attribute, claim }]) => {
      const known = { url: scimAddress(settings, name), attribute, claim };
      return [name, new CachedReading(() => this.read(name, known), FRESH_MS)] as const;
    });
    this.readings = new Map(entries);
  }

  /**
   * Synchronisation with the directory of a provider
   *
   * At most three seconds old.
   *
   * @returns The last request, the numbers of users and groups, and the last error.
   * @throws OAuthError `not_found`
   */
  @Get()
  async synchronisation(@Param('name') name: string): Promise<Synchronisation> {
    const reading = this.readings.get(name);
    if (!reading) throw new OAuthError('not_found', 'this provider has no directory');
    return reading.get();
  }

  private async read(
    provider: string,
    known: Pick<Synchronisation, 'url' | 'attribute' | 'claim'>,
  ): Promise<Synchronisation> {
    const { manager } = this.dataSource;
    const activity = await manager.findOneBy(DirectoryActivity, { provider });
    const { requestedAt, request = null, failedAt, failure } = activity ?? {};
    return {
      ...known,
      last_request_at: requestedAt?.toISOString() ?? null,
      last_request: request,
      users: await manager.countBy(DirectoryUser, { provider }),
      groups: await manager.countBy(DirectoryGroup, { provider, removed: false }),
      waiting_tasks: await manager.countBy(DirectoryTask, { provider }),
      last_error:
        failedAt && failure
          ? {
              at: failedAt.toISOString(),
              request: failure.request,
              status: failure.status,
              scim_type: failure.scimType,
              detail: failure.detail,
            }
          : null,
    };
  }
}
