import { Reflector } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { ReferenceTable } from '../database/citus.js';
import { ENTITIES } from '../entities.js';

/** Where the rows of a table go. */
export interface Placement {
  readonly table: string;
  /** The column whose hash says on which node a row is; undefined: every node has all rows. */
  readonly by?: string;
  /** A table with the same column: rows with the same value are on the same node. Undefined: there is none before it. */
  readonly beside?: string;
}

/** A place for the table of every entity; a table comes after the one that it is `beside`. */
export function planOf(dataSource: DataSource): Placement[] {
  const reflector = new Reflector();
  const first = new Map<string, string>(); // by column
  return ENTITIES.map((entity) => {
    const { tableName: table, primaryColumns } = dataSource.getMetadata(entity);
    if (reflector.get<unknown>(ReferenceTable.KEY, entity)) return { table };
    const by = primaryColumns[0]!.databaseName;
    const beside = first.get(by);
    if (beside !== undefined) return { table, by, beside };
    first.set(by, table);
    return { table, by };
  });
}
