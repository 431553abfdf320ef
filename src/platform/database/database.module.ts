import { Global, Logger, Module, type DynamicModule, type Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { Events } from '../events.js';
import { Clock } from './clock.js';
import { HeavyReads } from './heavy-reads.js';
import { dataSourceOptions } from './pool/data-source.js';
import { REPLACEMENTS, type Cluster } from './replaceable.js';
import { checkSettings } from './pool/session-settings.js';
import { Sql } from './sql.js';
import { requireSchema } from './start/require-usable.js';
import { usualTarget } from './pool/connection-target.js';

const sqlOn = (cluster: Cluster) => ({
  provide: Sql,
  inject: [DataSource, Events],
  useFactory: async (dataSource: DataSource, events: Events) => {
    const warning = await checkSettings(dataSource);
    if (warning !== undefined) new Logger('Database').warn(warning);
    await requireSchema(dataSource);
    return new Sql(dataSource, await cluster.isUsed(dataSource), events);
  },
});

const replacementsOn = (cluster: Cluster) => ({
  provide: REPLACEMENTS,
  inject: [Sql],
  useFactory: ({ distributed }: Sql) => (distributed ? cluster.replacements() : new Map()),
});

/** Of backends and the support: connections are left to all other requests. */
const heavyReads = {
  provide: HeavyReads,
  inject: [SETTINGS],
  useFactory: ({ databasePoolSize }: Settings) => new HeavyReads(Math.ceil(databasePoolSize / 4)),
};

@Global()
@Module({ providers: [Clock, heavyReads], exports: [Sql, Clock, HeavyReads, REPLACEMENTS] })
export class DatabaseModule {
  static forRoot(entities: Type[], cluster: Cluster): DynamicModule {
    const typeOrm = TypeOrmModule.forRootAsync({
      inject: [SETTINGS],
      useFactory: (settings: Settings) => ({
        ...dataSourceOptions(usualTarget(settings), settings.databasePoolSize),
        entities,
        retryAttempts: 0, // retry.ts retries
        toRetry: () => false, // so Nest prints no `Retrying`
      }),
    });
    return {
      module: DatabaseModule,
      imports: [typeOrm],
      providers: [sqlOn(cluster), replacementsOn(cluster)],
    };
  }
}
