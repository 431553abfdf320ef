import type { Settings } from '../../../platform/config/settings/settings.js';

/** Where the sign-in on the page for devices ends. */
export function deviceCallback({ publicUrl }: Pick<Settings, 'publicUrl'>): string {
  return `${publicUrl}/device/callback`;
}
