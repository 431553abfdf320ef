/** Stands for "no device" in the table's key. */
export const NO_DEVICE = '00000000-0000-0000-0000-000000000000';

/** Seconds without a heartbeat after which an instance counts as gone. It sends one every ten seconds. */
export const GONE_AFTER_S = 30;

/** Condition, made from an SQL expression: the user has an open socket. */
export function isUserOnline(userId: string): string {
  return `EXISTS (
    SELECT FROM presence p JOIN instances i ON i.instance_id = p.instance_id
    WHERE p.user_id = ${userId} AND i.seen_at > now() - make_interval(secs => ${GONE_AFTER_S}))`;
}

/** Condition, made from SQL expressions: a device of the user has an open socket (contract §7, `online`). */
export function isOnline(userId: string, deviceId: string): string {
  return `EXISTS (
    SELECT FROM presence p JOIN instances i ON i.instance_id = p.instance_id
    WHERE p.user_id = ${userId} AND p.device_id = ${deviceId}
      AND i.seen_at > now() - make_interval(secs => ${GONE_AFTER_S}))`;
}
