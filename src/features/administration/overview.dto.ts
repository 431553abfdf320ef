/** Sign-ins of an hour. Null: not counted yet, after the start of an instance with very many events. */
export class HourOfSignIns {
  /** Begin, RFC 3339. */
  hour!: string;

  sign_ins!: number | null;

  refusals!: number | null;
}

/** Refused sign-ins with one error. */
export class RefusalCount {
  /** Code of this service or of the provider; `other` for rare ones. */
  error!: string;

  count!: number;
}

/** How sign-ins with a provider went, in the last seven days. */
export class ProviderHealth {
  name!: string;

  /** For people. */
  label!: string;

  /** RFC 3339. Null: none in seven days. */
  last_success_at!: string | null;

  /** RFC 3339. Null: none in seven days. */
  last_failure_at!: string | null;

  /** Error of the last failure. */
  last_error!: string | null;
}

/** Answer of GET /admin/overview. */
export class Overview {
  /** The last 168 hours, oldest first; the last one is the present hour. */
  hours!: HourOfSignIns[];

  /** The most frequent errors of refused sign-ins in the last 24 hours, ten at most. */
  refusals!: RefusalCount[];

  /** Number of users; above a million an estimate. */
  users!: number;

  users_online!: number;

  /** Number of sessions that have neither expired nor ended; above a million an estimate. */
  live_sessions!: number;

  providers!: ProviderHealth[];
}
