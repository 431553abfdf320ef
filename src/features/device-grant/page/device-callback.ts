import type { Settings } from '../../../platform/config/settings/settings.js';

/** Returns the redirect URI of the sign-in on the page for devices. */
export function deviceCallback({ publicUrl }: Pick<Settings, 'publicUrl'>): string {
  return `${publicUrl}/device/callback`;
}
