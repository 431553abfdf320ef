import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { SETTINGS } from '../platform/config/settings/settings.js';
import { Sql } from '../platform/database/sql.js';
import { Events } from '../platform/events.js';
import { CitusChannelHistory } from './channel.history.citus.js';
import { ChannelHistory } from './channel.history.js';
import { IdempotencyStore } from './idempotency.store.js';
import { Instance, Presence } from './presence.entity.js';
import { PresenceStore } from './presence.store.js';
import { PresenceTracker } from './presence.tracker.js';

const history = {
  provide: ChannelHistory,
  inject: [DataSource, Sql, Events, SETTINGS],
  useFactory: (...[dataSource, sql, ...others]: ConstructorParameters<typeof ChannelHistory>) =>
    new (sql.distributed ? CitusChannelHistory : ChannelHistory)(dataSource, sql, ...others),
};

/**
 * History and presence of users' channels. Not global: a global module shuts down after the pool is closed.
 */
@Module({
  imports: [TypeOrmModule.forFeature([Instance, Presence])],
  providers: [history, IdempotencyStore, PresenceStore, PresenceTracker],
  exports: [ChannelHistory, IdempotencyStore, PresenceStore, PresenceTracker],
})
export class ChannelModule {}
