import { Module } from '@nestjs/common';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { Clock } from '../database/clock.js';
import { Events } from '../events.js';
import { ContractAdapter } from './adapters/contract.adapter.js';
import { OAuth2Adapter } from './adapters/oauth2.adapter.js';
import { OidcAdapter } from './adapters/oidc.adapter.js';
import { LoggedOut } from './logout/logged-out.js';
import { LogoutTokens } from './logout/logout-tokens.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { ProviderHttp } from './transport/provider-http.js';
import { ProviderRegistry } from './provider.registry.js';
import { ProvidersController } from './providers.controller.js';

@Module({
  controllers: [ProvidersController],
  providers: [
    ProviderHttp,
    ContractAdapter,
    OidcAdapter,
    OAuth2Adapter,
    LoggedOut,
    LogoutTokens,
    {
      provide: ProviderRegistry,
      inject: [SETTINGS, Events, Clock, ContractAdapter, OidcAdapter, OAuth2Adapter],
      useFactory: (
        settings: Settings,
        events: Events,
        clock: Clock,
        contract: ContractAdapter,
        oidc: OidcAdapter,
        oauth2: OAuth2Adapter,
      ) =>
        ProviderRegistry.load(
          settings,
          new Map<string, ProviderAdapter>(Object.entries({ contract, oidc, oauth2 })),
          events,
          () => clock.now(),
        ),
    },
  ],
  exports: [LoggedOut, LogoutTokens, ProviderRegistry],
})
export class ProviderModule {}
