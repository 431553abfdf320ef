import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AdmissionModule } from './features/admission/admission.module.js';
import { AdministrationModule } from './features/administration/administration.module.js';
import { AuditModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { BackchannelLogoutModule } from './auth/sign-out/backchannel-logout.module.js';
import { BackgroundModule } from './platform/background.js';
import { settingsModule, type Settings } from './platform/config/settings/settings.js';
import { DatabaseModule } from './platform/database/database.module.js';
import { DeviceGrantModule } from './features/device-grant/device-grant.module.js';
import { DeviceModule } from './device/device.module.js';
import { DemoModule } from './features/demo/demo.controller.js';
import { ENTITIES } from './entities.js';
import { ERROR_STATUS } from './platform/errors/oauth-error.js';
import { ForwardAuthModule } from './features/forward-auth/forward-auth.module.js';
import { OAuthErrorFilter } from './platform/http/errors/oauth-error.filter.js';
import { showNotFound } from './platform/http/page/not-found.js';
import { ParametersPipe } from './platform/http/parameters/parameters.pipe.js';
import { EventsModule } from './platform/events.js';
import { OpenApiModule } from './operations/openapi/openapi.module.js';
import { OperationsModule } from './operations/operations.module.js';
import { PolicyModule } from './features/policy/policy.module.js';
import { ProviderModule } from './provider/provider.module.js';
import { RateLimitGuard } from './platform/rate-limit/rate-limit.guard.js';
import { RateLimitModule } from './platform/rate-limit/rate-limit.module.js';
import { RealtimeModule } from './realtime/realtime.module.js';
import { RecheckModule } from './features/recheck/recheck.module.js';
import { RedisModule } from './platform/redis/redis.module.js';
import { RemovalModule } from './operations/removal/removal.module.js';
import { SampleProviderModule } from './features/sample-provider/sample-provider.module.js';
import { JwtGuard } from './token/guard/jwt.guard.js';
import { DirectoryNamesModule } from './features/scim/effect/directory-names.module.js';
import { keepingProviders } from './features/scim/effect/names-without-directory.js';
import { ScimModule } from './features/scim/scim.module.js';
import { SignalsModule } from './features/provider-events/signals.module.js';
import { signalProviders } from './features/provider-events/transmitter/signal-providers.js';
import { TokenModule } from './token/token.module.js';
import { UserModule } from './user/user.module.js';

@Module({})
export class AppModule {
  static forRoot(settings: Settings): DynamicModule {
    return {
      module: AppModule,
      imports: [
        settingsModule(settings),
        EventsModule,
        BackgroundModule,
        DatabaseModule.forRoot(ENTITIES),
        AuditModule,
        RedisModule,
        RateLimitModule.forRoot(settings),
        ProviderModule,
        TokenModule,
        AuthModule,
        BackchannelLogoutModule.forRoot(settings),
        UserModule,
        DeviceModule,
        ForwardAuthModule,
        RealtimeModule,
        OperationsModule.forRoot(settings),
        OpenApiModule,
        RemovalModule,
        ...(settings.sampleProvider ? [SampleProviderModule] : []),
        ...(hasPolicy(settings) ? [PolicyModule] : []),
        ...(settings.deviceGrant === 'off' ? [] : [DeviceGrantModule]),
        ...(keepingProviders(settings).size > 0 ? [DirectoryNamesModule] : []),
        ...(hasDirectory(settings) ? [ScimModule.forRoot(settings)] : []),
        ...(signalProviders(settings).length > 0 ? [SignalsModule.forRoot(settings)] : []),
        ...(settings.admissionUrl === undefined ? [] : [AdmissionModule]),
        ...([...settings.providers.values()].some(({ recheck }) => recheck) ? [RecheckModule] : []),
        ...(settings.demoEnabled ? [DemoModule] : []),
        AdministrationModule.forRoot(settings),
      ],
      providers: [
        { provide: APP_FILTER, useValue: new OAuthErrorFilter(ERROR_STATUS, showNotFound) },
        { provide: APP_PIPE, useClass: ParametersPipe },
        // In this order: a limit counts before a token is verified. While limits are off, requests cost
        // nothing.
        ...(settings.rateLimit ? [{ provide: APP_GUARD, useClass: RateLimitGuard }] : []),
        { provide: APP_GUARD, useExisting: JwtGuard },
      ],
    };
  }
}

function hasDirectory({ providers, sampleProvider }: Settings): boolean {
  return [...providers.values(), sampleProvider?.provider].some((one) => one?.scim);
}

function hasPolicy({ providers, sampleProvider, maxSessions }: Settings): boolean {
  const hasRule = [...providers.values(), sampleProvider?.provider].some((one) => one?.allow);
  return hasRule || maxSessions !== undefined;
}
