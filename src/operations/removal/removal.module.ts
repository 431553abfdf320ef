import { Module } from '@nestjs/common';
import { replaceable } from '../../platform/database/replaceable.js';
import { ExpiredRows, RowBatches } from './expired-rows.js';
import { Removal } from './removal.js';

@Module({ providers: [replaceable(ExpiredRows, RowBatches), Removal] })
export class RemovalModule {}
