/** A request of a directory that was refused. */
export class RefusedRequest {
  /** RFC 3339. */
  at!: string;

  /** Method and path. */
  request!: string;

  status!: number;

  /** `scimType` of the answer (RFC 7644 §3.12). */
  scim_type!: string | null;

  /** `detail` of the answer. */
  detail!: string;
}

/** Answer of GET /admin/providers/:name/directory. */
export class Synchronisation {
  /** Address of the directory's interface, for its configuration. */
  url!: string;

  /** Attribute of a directory user that is compared with `claim`. */
  attribute!: string;

  /** Claim of the sign-in. */
  claim!: string;

  /** RFC 3339. Null: no request with the token of this provider yet. */
  last_request_at!: string | null;

  /** Method and path of the last request. */
  last_request!: string | null;

  /** Users of the directory, active or not. */
  users!: number;

  groups!: number;

  /** Changes that have not reached all users yet: of large groups, or after a crash. */
  waiting_tasks!: number;

  last_error!: RefusedRequest | null;
}
