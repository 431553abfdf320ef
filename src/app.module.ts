import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuditModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { BackgroundModule } from './platform/background.js';
import { settingsModule, type Settings } from './platform/config/settings/settings.js';
import { DatabaseModule } from './platform/database/database.module.js';
import { DeclaredModule } from './platform/declared.js';
import { DeviceModule } from './device/device.module.js';
import { cluster, ENTITIES } from './entities.js';
import { ERROR_STATUS } from './platform/errors/oauth-error.js';
import { AUDIT_NAMES, FEATURES } from './features.js';
import { OAuthErrorFilter } from './platform/http/errors/oauth-error.filter.js';
import { showNotFound } from './platform/http/page/not-found.js';
import { ParametersPipe } from './platform/http/parameters/parameters.pipe.js';
import { EventsModule } from './platform/events.js';
import { OperationsModule } from './operations/operations.module.js';
import { ProviderModule } from './provider/provider.module.js';
import { RateLimitGuard } from './platform/rate-limit/rate-limit.guard.js';
import { RateLimitModule } from './platform/rate-limit/rate-limit.module.js';
import { RealtimeModule } from './realtime/realtime.module.js';
import { RedisModule } from './platform/redis/redis.module.js';
import { JwtGuard } from './token/guard/jwt.guard.js';
import { TokenModule } from './token/token.module.js';
import { UserModule } from './user/user.module.js';

@Module({})
export class AppModule {
  static async forRoot(settings: Settings): Promise<DynamicModule> {
    const features = FEATURES.filter((feature) => feature.isOn(settings));
    return {
      module: AppModule,
      imports: [
        settingsModule(settings),
        DeclaredModule.forRoot({
          auditNames: AUDIT_NAMES,
          impersonalReasons: FEATURES.flatMap(({ impersonalReason = [] }) => impersonalReason),
          gauges: FEATURES.flatMap(({ gauges = [] }) => gauges),
          limits: Object.assign({}, ...FEATURES.map(({ limits }) => limits)) as Record<string, number>,
          hasHome: features.some(({ home }) => home !== undefined),
          endsEarly: features.some(({ endsEarly }) => endsEarly),
        }),
        EventsModule,
        BackgroundModule.forRoot(FEATURES.flatMap(({ work = {} }) => Object.entries(work))),
        DatabaseModule.forRoot(ENTITIES, cluster),
        AuditModule,
        RedisModule,
        RateLimitModule,
        ProviderModule,
        TokenModule,
        AuthModule,
        UserModule,
        DeviceModule,
        RealtimeModule,
        OperationsModule.forRoot(settings),
        ...(await Promise.all(features.map((feature) => feature.module(settings)))),
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
