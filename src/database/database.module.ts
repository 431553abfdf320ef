import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SETTINGS } from '../config/settings.module.js';
import type { Settings } from '../config/settings.js';
import { Clock } from './clock.js';
import { dataSourceOptions } from './data-source.js';
import { Sql } from './sql.js';

@Global()
@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [SETTINGS],
      useFactory: (settings: Settings) => ({
        ...dataSourceOptions(settings.databaseUrl!, settings.databasePoolSize), // start.ts has made sure of a URL
        retryAttempts: 0, // start.ts tries again,
        toRetry: () => false, // and nothing is printed that says `Retrying`
      }),
    }),
  ],
  providers: [Sql, Clock],
  exports: [Sql, Clock],
})
export class DatabaseModule {}
