import { Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module.js';
import { ChannelModule } from '../../channel/channel.module.js';
import { openIdProviders } from '../../platform/config/providers/presets.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { DeviceModule } from '../../device/device.module.js';
import { ProviderModule } from '../../provider/provider.module.js';
import { AccountStates } from './effect/account-states.store.js';
import { ClaimsChange } from './effect/claims-change.js';
import { MeantUsers } from './effect/meant-users.js';
import { SignalAccount } from './effect/signal-account.entity.js';
import { SignalEndings } from './effect/signal-endings.js';
import { SignalQueue } from './effect/signal-queue.js';
import { SignalSignIns } from './effect/signal-sign-ins.js';
import { Signals } from './effect/signals.service.js';
import { SubjectUsers } from './effect/subject-users.store.js';
import { backchannelLogoutOf } from './logout/backchannel-logout.controller.js';
import { BackchannelLogout } from './logout/backchannel-logout.service.js';
import { LogoutTokens } from './logout/logout-tokens.js';
import { SetTokens } from './receiver/set-tokens.js';
import { signalsOf } from './receiver/signals.controller.js';
import { revocationOf } from './revocation/revocation.controller.js';
import { Revocation } from './revocation/revocation.service.js';
import { RevocationTokens } from './revocation/revocation-tokens.js';
import { TokenModule } from '../../token/token.module.js';
import { signalProviders } from './transmitter/signal-providers.js';

const SIGNALS = [
  AccountStates,
  ClaimsChange,
  MeantUsers,
  Revocation,
  RevocationTokens,
  SetTokens,
  SignalEndings,
  SignalQueue,
  SignalSignIns,
  Signals,
  SubjectUsers,
];

/**
 * Logout tokens of OpenID providers (docs/provider-sign-out.md#back-channel-logout); Shared Signals and
 * global token revocation (docs/signals.md).
 */
@Module({})
export class ProviderEventsModule {
  static forRoot(settings: Settings): DynamicModule {
    const transmitters = signalProviders(settings);
    const signals = transmitters.length > 0;
    return {
      module: ProviderEventsModule,
      imports: [
        AuthModule,
        ChannelModule,
        DeviceModule,
        ProviderModule,
        TokenModule,
        ...(signals ? [TypeOrmModule.forFeature([SignalAccount])] : []),
      ],
      controllers: [
        ...openIdProviders(settings).map(backchannelLogoutOf),
        ...transmitters.flatMap((name) => [signalsOf(name), revocationOf(name)]),
      ],
      providers: [BackchannelLogout, LogoutTokens, ...(signals ? SIGNALS : [])],
    };
  }
}
