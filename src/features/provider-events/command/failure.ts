import type { ProviderSettings } from '../../../platform/config/providers/provider-settings.js';
import { ownWords } from '../../../provider/errors/log-line.js';
import { findCall } from '../../../provider/transport/provider-answer.js';

export type Step = 'transmitter' | 'access token' | 'stream' | 'status' | 'verification';

/** Finding that ends the command. */
export class Failed extends Error {
  constructor(
    readonly part: Step,
    message: string,
  ) {
    super(message);
  }
}

/** By the error code of the token endpoint (RFC 6749 §5.2). */
const ADVICE_ON_CODES: ReadonlyMap<unknown, string> = new Map([
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
const ADVICE_ON_STEPS: Readonly<Record<Step, (status: number | undefined) => string>> = {
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

/** Describes a failed call in the transmitter's own words, with what to do (docs/signals.md#errors). */
export function failureOf(
  step: Step,
  error: unknown,
  provider: ProviderSettings,
  secrets: readonly string[],
): Failed {
  const { status, error: code, url } = findCall(error) ?? {};
  const words = ownWords(error, provider, secrets) + (url === undefined ? '' : ` from ${url}`);
  return new Failed(step, `${words}. ${ADVICE_ON_CODES.get(code) ?? ADVICE_ON_STEPS[step](status)}`);
}
