import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { readAccountsFile } from './accounts/accounts-file.js';
import { Accounts, demoAccounts } from './accounts/accounts.js';
import { AuthorizeController } from './authorize.controller.js';
import { builtIn } from './built-in.js';
import { ClientService } from './client.service.js';
import { CodeStore } from './code.store.js';
import { CsrfTokens } from './csrf-token.js';
import { ExchangeController } from './exchange.controller.js';
import { PasswordCheck } from './passwords/password-check.js';
import { SampleCode } from './sample-code.entity.js';

/** The built-in identity provider `mock`: spec §4.5 from the provider's side. */
@Module({
  imports: [TypeOrmModule.forFeature([SampleCode])],
  controllers: [AuthorizeController, ExchangeController],
  providers: [
    ClientService,
    CodeStore,
    CsrfTokens,
    PasswordCheck,
    { provide: Accounts, inject: [SETTINGS], useFactory: loadAccounts },
  ],
})
export class SampleProviderModule {}

function loadAccounts({ providers, production }: Settings): Accounts {
  const file = providers.get(builtIn.name)?.accountsFile;
  if (file !== undefined) return new Accounts(readAccountsFile(file));
  if (production) throw new Error('there are no demo accounts in production'); // a setting requires the file
  return new Accounts(demoAccounts, demoAccounts);
}
