import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { CachedReading } from '../../../platform/database/limits.js';
import { DirectoryTask } from '../effect/directory-task.entity.js';
import { DirectoryGroup } from '../groups/directory-group.entity.js';
import { scimAddress, scimProviders } from '../protocol/scim-providers.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryActivities } from './directory-activity.js';
import type { Synchronisation } from './synchronisation.dto.js';

/** Of 500,000 users a count takes some 50 ms. */
const FRESH_MS = 2000;

/** What the service knows of the directories themselves. */
@Injectable()
export class Synchronisations {
  private readonly readings: ReadonlyMap<string, CachedReading<Synchronisation>>;

  constructor(
    private readonly activities: DirectoryActivities,
    private readonly dataSource: DataSource,
    @Inject(SETTINGS) settings: Settings,
  ) {
    const entries = [...scimProviders(settings)].map(([name, { attribute, claim }]) => {
      const known = { url: scimAddress(settings, name), attribute, claim };
      return [name, new CachedReading(() => this.read(name, known), FRESH_MS)] as const;
    });
    this.readings = new Map(entries);
  }

  /** Returns undefined for a provider without a directory. */
  async find(provider: string): Promise<Synchronisation | undefined> {
    return this.readings.get(provider)?.get();
  }

  private async read(
    provider: string,
    known: Pick<Synchronisation, 'url' | 'attribute' | 'claim'>,
  ): Promise<Synchronisation> {
    const { manager } = this.dataSource;
    const activity = await this.activities.find(provider);
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
