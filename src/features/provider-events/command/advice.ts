// What to do about what the command finds; docs/signals.md#errors has more.

export type Step = 'transmitter' | 'access token' | 'stream' | 'status' | 'verification';

/** By the error code of the token endpoint (RFC 6749 §5.2). */
export const ADVICE_ON_CODES: ReadonlyMap<unknown, string> = new Map([
  ['invalid_client', 'Correct client_id and client_secret of this provider.'],
  [
    'invalid_scope',
    'Give this client the scopes ssf.read and ssf.manage (Keycloak: Client scopes, Optional).',
  ],
  [
    'unauthorized_client',
    'Correct client_id and client_secret, and allow client credentials (Keycloak: Service accounts roles).',
  ],
  ['unsupported_grant_type', 'The provider must support client credentials (RFC 6749 §4.4).'],
]);

const LOOK = 'Look at the stream in the console of the transmitter.';

/** By the step that failed, and the status of the answer. */
export const ADVICE_ON_STEPS: Readonly<Record<Step, (status: number | undefined) => string>> = {
  transmitter: () =>
    'Turn the transmitter on (Keycloak: --features=ssf, and SSF Transmitter in the settings of the realm). If its issuer is not that of the provider, set signals_issuer.',
  'access token': () => 'The client of this provider must be able to use client credentials.',
  stream: (status) =>
    status === 401 || status === 403
      ? 'Make this client a receiver of signals (Keycloak: SSF Receiver), with the scopes ssf.read and ssf.manage.'
      : 'Allow this address for the receiver (Keycloak: SSF, Receiver, Valid push URLs).',
  status: () => LOOK,
  verification: (status) =>
    status === 429 ? 'The transmitter was asked a moment ago: run this command again in a minute.' : LOOK,
};

export const NO_KEYS = 'its metadata has no jwks_uri, so its events cannot be verified';
export const NO_CONFIGURATION =
  'its metadata has no configuration_endpoint: make a stream in its console that pushes (RFC 8935) to';
export const NO_EVENTS = 'it sends no event that has an effect here: allow session-revoked for this receiver';
export const NO_SUBJECTS =
  'a stream begins without users (default_subjects is NONE), and then nothing is sent: make all users its subjects (Keycloak: SSF, Receiver, Default Subjects: ALL)';
export const SEVERAL_OF_MINE =
  'streams push to this address, so each event arrives several times: remove all but one';
export const SEVERAL_OTHERS =
  'this client has several streams, and none pushes to this address: remove those that nobody uses';
export const NO_VERIFICATION =
  'the transmitter offers none: sign a user out there, and look for signal_received in the audit trail';
export const UNSEEN = 'this command cannot see whether the event arrives';
export const NOT_ARRIVED =
  'the transmitter must reach the address of this service; if it refused the event, its log says why';
