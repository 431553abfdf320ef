import { getMetadataArgsStorage } from 'typeorm';
import type { AuditRow } from './audit-event.js';
import { StoredAuditEvent } from './audit-event.entity.js';

/** Columns to insert. `at` has its default, the time under the locks of the transaction. */
export const INSERTED = getMetadataArgsStorage()
  .filterColumns(StoredAuditEvent)
  .filter(({ propertyName }) => propertyName !== 'at')
  .map(({ propertyName, options }) => ({
    name: propertyName as keyof AuditRow,
    type: options.type as string,
  }));

/** Columns to select: a column of a later version must not appear in events. */
export const COLUMNS = ['at', ...INSERTED.map(({ name }) => name)].join(', ');
