import type { DynamicModule } from '@nestjs/common';
import { ConfigModule, getConfigToken, registerAs } from '@nestjs/config';
import type { Settings } from './settings.js';

const NAME = 'settings';

/** `@Inject(SETTINGS) private readonly settings: Settings` */
export const SETTINGS = getConfigToken(NAME);

/** Provides the loaded settings to every module; neither `.env` nor the environment is read again. */
export function settingsModule(settings: Settings): Promise<DynamicModule> {
  return ConfigModule.forRoot({
    isGlobal: true,
    ignoreEnvFile: true,
    ignoreEnvVars: true,
    skipProcessEnv: true,
    load: [registerAs(NAME, () => settings)],
  });
}
