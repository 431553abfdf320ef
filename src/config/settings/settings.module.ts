import type { DynamicModule } from '@nestjs/common';
import { ConfigModule, getConfigToken, registerAs } from '@nestjs/config';
import type { Settings } from './settings.js';

const NAME = 'settings';

/** `@Inject(SETTINGS) private readonly settings: Settings` */
export const SETTINGS = getConfigToken(NAME);

/**
 * Offers the settings to every module, as the same object that `loadSettings` made.
 *
 * Neither `.env` nor the environment is read again: both were read, and checked, before Nest began.
 */
export function settingsModule(settings: Settings): Promise<DynamicModule> {
  return ConfigModule.forRoot({
    isGlobal: true,
    ignoreEnvFile: true,
    ignoreEnvVars: true,
    skipProcessEnv: true,
    load: [registerAs(NAME, () => settings)],
  });
}
