import type { ServiceCalls } from './service-calls.js';

/** Whom to sign out: by our id (perhaps of one device only), or by the provider's. */
export type UserToSignOut =
  | {
      /** The user: `claims.sub`. */
      userId: string;
      /** Only this device: `claims.device_id`. Leave it out for all of them; undefined is refused. */
      deviceId?: string;
    }
  | {
      /** Name of the provider, as configured in the service. */
      provider: string;
      /** The provider's own id of the user. */
      providerUserId: string;
    };

/** @throws TypeError for a `deviceId` that is given and undefined, as that of a session without a device: it would mean all */
export async function signOutUser(
  calls: ServiceCalls,
  user: UserToSignOut,
  timeoutMs: number,
): Promise<void> {
  if ('userId' in user) {
    if ('deviceId' in user && typeof user.deviceId !== 'string') {
      throw new TypeError('deviceId is no text: leave it out to sign the user out everywhere');
    }
    const path = `/users/${encodeURIComponent(user.userId)}/sign-out`;
    return calls.post(path, {
      right: 'users',
      body: { device_id: user.deviceId },
      timeoutMs,
      isRepeatable: true,
    });
  }
  const body = { provider: user.provider, provider_user_id: user.providerUserId };
  return calls.post('/users/sign-out', { right: 'users', body, timeoutMs, isRepeatable: true });
}
