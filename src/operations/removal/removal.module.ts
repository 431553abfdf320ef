import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Sql } from '../../platform/database/sql.js';
import { TimeSlices } from './expired-rows.citus.js';
import { ExpiredRows, RowBatches } from './expired-rows.js';
import { Removal } from './removal.js';

const expiredRows = {
  provide: ExpiredRows,
  inject: [Sql, DataSource],
  useFactory: (sql: Sql, dataSource: DataSource): ExpiredRows =>
    sql.distributed ? new TimeSlices(dataSource) : new RowBatches(sql),
};

@Module({ providers: [expiredRows, Removal] })
export class RemovalModule {}
