/** Name of an audit event; later versions of the service may have more. */
export type AuditName =
  | 'sign_in'
  | 'sign_in_refused'
  | 'sign_out'
  | 'refresh_refused'
  | 'session_lost'
  | 'user_suspended'
  | 'user_restored'
  | 'user_removed'
  | 'claims_changed'
  | 'device_renamed'
  | 'device_removed'
  | 'key_made'
  | 'key_revoked'
  | 'service_key_refused'
  | 'provider_tested'
  | 'directory_changed'
  | 'device_requested'
  | 'device_approved'
  | 'device_denied'
  | 'agent_allowed'
  | 'agent_refused'
  | 'identity_linked'
  | 'identity_unlinked'
  | 'user_merged'
  | 'signal_received'
  | 'webhook_paused'
  | 'webhook_event_set_aside'
  | (string & {});

/** An entry of the audit trail. Members that do not apply are absent. */
export interface AuditEvent {
  readonly id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly event: AuditName;
  readonly result: 'ok' | 'refused' | (string & {});
  /** Code of a refusal, e.g. `invalid_grant`. */
  readonly error?: string;
  readonly reason?: string;
  readonly user_id?: string;
  readonly session_id?: string;
  readonly device_id?: string;
  readonly provider?: string;
  readonly provider_user_id?: string;
  /** IP address, as the service's `AUDIT_ADDRESSES` allows. */
  readonly address?: string;
  readonly user_agent?: string;
  /** Who caused it. `name`: the id of a user, or the name of a service key. */
  readonly actor: {
    readonly type: 'user' | 'service_key' | 'provider' | 'directory' | 'signal' | 'system' | (string & {});
    readonly name?: string;
  };
  /** The request in the service's log. */
  readonly request_id?: string;
  /** Of `sign_in` with a device: the first use of the device by the user within the retention. */
  readonly new_device?: boolean;
  /** Of `sign_in` with an address: the first sign-in of the user from this network within the retention. */
  readonly new_network?: boolean;
  /** Of `user_merged`: the user who is now part of `user_id`. */
  readonly former_user_id?: string;
  /** Of `claims_changed`: claims by name; of a list, the entries. `…` stands for what is not recorded. */
  readonly changes?: {
    readonly source: 'provider' | 'application' | 'directory' | (string & {});
    readonly added: Readonly<Record<string, unknown>>;
    readonly removed: Readonly<Record<string, unknown>>;
  };
}
