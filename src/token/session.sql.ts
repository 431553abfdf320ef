/** A device of one user, as SQL expressions. */
interface OfDevice {
  readonly userId: string;
  readonly deviceId: string;
}

/**
 * Condition: the device has a session that lives. The mark is looked at as well as the expiry: `now()` is when this
 * transaction began, and whoever ended another session meanwhile has a later one.
 */
export function hasLivingSession({ userId, deviceId }: OfDevice): string {
  return `EXISTS (
    SELECT FROM refresh_tokens r
    WHERE r.user_id = ${userId} AND r.device_id = ${deviceId}
      AND r.signed_out_at IS NULL AND r.expires_at > now())`;
}
