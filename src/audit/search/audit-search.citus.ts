import type { DataSource } from 'typeorm';
import type { Sql } from '../../database/sql.js';
import { AuditSearch, OF_USER } from './audit-search.js';

/** Citus finds the node of a user by an equation. */
const OF_USER_ON_NODE = `user_id = $4 AND ${OF_USER}`;

export function createAuditSearch(dataSource: DataSource, { distributed }: Sql): AuditSearch {
  return distributed ? new AuditSearch(dataSource, OF_USER_ON_NODE) : new AuditSearch(dataSource);
}
