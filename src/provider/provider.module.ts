import { Module } from '@nestjs/common';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { Clock } from '../platform/database/clock.js';
import { Events } from '../platform/events.js';
import { ProviderKeys } from './keys/provider-keys.js';
import { ProviderHttp } from './transport/provider-http.js';
import { builtInAdapters, ProviderRegistry } from './provider.registry.js';
import { ProvidersController } from './providers.controller.js';

@Module({
  controllers: [ProvidersController],
  providers: [
    ProviderHttp,
    ProviderKeys,
    {
      provide: ProviderRegistry,
      inject: [SETTINGS, ProviderHttp, Events, Clock],
      useFactory: (settings: Settings, http: ProviderHttp, events: Events, clock: Clock) =>
        ProviderRegistry.load(settings, builtInAdapters(http), events, clock),
    },
  ],
  exports: [ProviderHttp, ProviderKeys, ProviderRegistry],
})
export class ProviderModule {}
