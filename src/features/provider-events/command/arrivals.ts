import { runningEmbeddedPostgres } from '#embedded-postgres';
import { DataSource } from 'typeorm';
import { AuditSearch } from '../../../audit/search/audit-search.js';
import { AuditWalks } from '../../../audit/search/audit-walks.js';
import type { Settings } from '../../../platform/config/settings/settings.js';
import { usualTarget } from '../../../platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../../platform/database/pool/data-source.js';

/** Verification events that the running service has accepted. */
export interface Arrivals {
  /** Whether the event with this state has arrived. */
  has(state: string): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Looks into the audit trail of the running service.
 * @throws if there is none
 */
export async function openArrivals(settings: Settings, provider: string): Promise<Arrivals> {
  const { databaseUrl, dataDir, auditRetentionDays } = settings;
  if (auditRetentionDays === 0) throw new Error('AUDIT_RETENTION_DAYS is 0, so there is no audit trail');
  const database = databaseUrl ? usualTarget(settings) : runningEmbeddedPostgres(dataDir);
  if (!database) throw new Error('the service does not run here, and DATABASE_URL is not set');
  const dataSource = await new DataSource(dataSourceOptions(database, 1)).initialize();
  const search = new AuditSearch(new AuditWalks(dataSource));
  return {
    async has(state) {
      const { events } = await search.find({ event: 'signal_received', provider });
      return events.some(({ reason }) => reason === `verification: ${state}`);
    },
    close: () => dataSource.destroy(),
  };
}
