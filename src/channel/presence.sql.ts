/** Seconds after which an instance that is not heard of counts as gone. Its heartbeat comes every ten. */
export const GONE_AFTER_S = 30;

/** A condition, made from SQL expressions: a device of the user has an open socket (contract §7, `online`). */
export function isOnline(userId: string, deviceId: string): string {
  return `EXISTS (
    SELECT FROM presence p JOIN instances i ON i.instance_id = p.instance_id
    WHERE p.user_id = ${userId} AND p.device_id = ${deviceId}
      AND i.seen_at > now() - make_interval(secs => ${GONE_AFTER_S}))`;
}
