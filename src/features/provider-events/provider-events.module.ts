import { Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module.js';
import { ChannelModule } from '../../channel/channel.module.js';
import { openIdProviders } from '../../platform/config/providers/presets.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { DeviceModule } from '../../device/device.module.js';
import { ProviderModule } from '../../provider/provider.module.js';
import { AccountStates } from './effect/account-states.store.js';
import { BackchannelLogout } from './effect/backchannel-logout.service.js';
import { ClaimsChange } from './effect/claims-change.js';
import { MeantUsers } from './effect/meant-users.js';
import { ProviderEnds } from './effect/provider-ends.js';
import { Revocation } from './effect/revocation.service.js';
import { SignalAccount } from './effect/signal-account.entity.js';
import { SignalQueue } from './effect/signal-queue.js';
import { SignalSignIns } from './effect/signal-sign-ins.js';
import { Signals } from './effect/signals.service.js';
import { backchannelLogoutOf } from './endpoints/backchannel-logout.controller.js';
import { revocationOf } from './endpoints/revocation.controller.js';
import { signalsOf } from './endpoints/signals.controller.js';
import { signalProviders } from './provider-events.settings.js';
import { TokenModule } from '../../token/token.module.js';
import { ProviderTokens } from './verify/provider-tokens.js';
import { SignerKeys } from './verify/signer-keys.js';

const SIGNALS = [AccountStates, ClaimsChange, MeantUsers, Revocation, SignalQueue, SignalSignIns, Signals];

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
      providers: [BackchannelLogout, ProviderEnds, ProviderTokens, SignerKeys, ...(signals ? SIGNALS : [])],
    };
  }
}
