import { call } from './call.js';
import type { Reply } from './reply.js';

/** The form of spec §4.5.2; undefined fields are left out. */
export interface ExchangeForm {
  readonly client_id: string | undefined;
  readonly client_secret: string | undefined;
  readonly code: string | undefined;
  readonly redirect_uri: string | undefined;
  /** RFC 7636 §4.5. */
  readonly code_verifier?: string | undefined;
}

/** POST {provider_url}/oauth2/token/exchange with the headers of the service (spec §4.5.2). */
export function exchange(providerUrl: string, form: ExchangeForm): Promise<Reply> {
  const fields = Object.entries(form).filter((field): field is [string, string] => field[1] !== undefined);
  return call(`${providerUrl}/oauth2/token/exchange`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
    body: new URLSearchParams(fields).toString(),
  });
}

/** Whether there is no exchange endpoint: no answer, a redirect, or no such path or method. */
export function isMissing(reply: Reply): boolean {
  if ('problem' in reply) return true;
  const { status, body } = reply;
  if (status >= 300 && status < 400) return true;
  const error = (body as { error?: unknown } | null | undefined)?.error;
  return (
    [404, 405, 501].includes(status) &&
    !/^(?:invalid_(?:request|grant|client)|server_error)$/.test(String(error))
  );
}
