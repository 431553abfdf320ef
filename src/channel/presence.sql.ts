/** Stands for "no device" in the table's key. */
export const NO_DEVICE = '00000000-0000-0000-0000-000000000000';

/** Seconds without a heartbeat after which an instance counts as gone. It sends one every ten seconds. */
export const GONE_AFTER_S = 30;

/** Join of presence and its living instances. */
export const ONLINE_PRESENCE = `
    presence p JOIN instances i
      ON i.instance_id = p.instance_id AND i.seen_at > now() - make_interval(secs => ${GONE_AFTER_S})`;
