import type { DataSource } from 'typeorm';
import type { Settings } from '../../platform/config/settings/settings.js';
import type { Sql } from '../../platform/database/sql.js';
import { AuditWalks } from './audit-walks.js';

export function createAuditWalks(
  dataSource: DataSource,
  { distributed }: Sql,
  { auditAddresses }: Pick<Settings, 'auditAddresses'>,
): AuditWalks {
  return new AuditWalks(dataSource, auditAddresses, distributed);
}
