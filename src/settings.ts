import { AUDIT_NAMES, FEATURES } from './features.js';
import { loadSettings as load } from './platform/config/settings/load-settings.js';
import { parseSettings as parse, type Surroundings } from './platform/config/settings/parse-settings.js';
import type { Environment } from './platform/config/settings/setting-row.js';
import { SettingTables } from './platform/config/settings/settings-part.js';
import type { Settings } from './platform/config/settings/settings.js';

/** Rows of the core and of all features. */
export const SETTING_TABLES = new SettingTables(FEATURES, AUDIT_NAMES);

/** As parse-settings.ts describes. */
export function parseSettings(env: Environment, surroundings?: Partial<Surroundings>): Settings {
  return parse(env, { tables: SETTING_TABLES, ...surroundings });
}

/** As load-settings.ts describes. */
export function loadSettings(
  env?: Environment,
  cwd?: string,
  generatedSecrets?: Surroundings['generatedSecrets'],
): Settings {
  return load(SETTING_TABLES, env, cwd, generatedSecrets);
}

/** Loads the settings for a command, which generates no key. @throws as `loadSettings` */
export function loadCommandSettings(generatedSecrets: 'checked' | 'existing' | 'none'): Settings {
  return loadSettings(undefined, undefined, generatedSecrets);
}
