import type { Settings } from '../../config/settings/settings.js';

/** Right that a user's roles grant (contract §9), if any. @param roles claim of that name */
export function rightOfRoles(
  roles: unknown,
  { adminRole, supportRole }: Pick<Settings, 'adminRole' | 'supportRole'>,
): 'users' | 'support' | null {
  if (!Array.isArray(roles)) return null;
  if (roles.includes(adminRole)) return 'users';
  return roles.includes(supportRole) ? 'support' : null;
}
