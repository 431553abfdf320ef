import type { Settings } from '../../platform/config/settings/settings.js';

/** Where sign-ins on the administration page end. */
export function adminCallback({ publicUrl }: Pick<Settings, 'publicUrl'>): string {
  return `${publicUrl}/admin/callback`;
}
