// The three public endpoints (spec §4), each as one function. Addresses are relative: the demo lives beside them.

/** What Latchkey, or the way to it, had against a request; `message` may be shown. */
export class LatchkeyError extends Error {
  /** @param {{error: string, description: string, status?: number, summary?: string}} problem */
  constructor({ error, description, status = 0, summary = '' }) {
    super(description);
    this.error = error;
    this.status = status;
    /** The request in one line, as in a `Call`. */
    this.summary = summary;
  }
}

/** @typedef {{body: any, summary: string}} Call  An answer's body, and the request in one line: `GET /… → 200, 12 ms`. */

/** Spec §4.2. @returns {Promise<Call>} body: `{redirect_url, state}` */
export function authorize({ provider, redirectUri, codeChallenge }) {
  const query = new URLSearchParams({
    provider,
    redirect_uri: redirectUri,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  });
  return call('GET', 'oauth2/authorize', `?${query}`);
}

/** Spec §4.3. @returns {Promise<Call>} body: `{access_token, refresh_token, expires_in, user_id}` */
export function exchange(fields) {
  return call('POST', 'oauth2/token', '', fields);
}

/** Spec §4.4. @returns {Promise<Call>} body: `{access_token, expires_in}` */
export function refresh(refreshToken) {
  return call('POST', 'oauth2/refresh', '', { refresh_token: refreshToken });
}

async function call(method, path, query = '', fields = undefined) {
  const begun = performance.now();
  const request = `${method} /${path}`;
  const response = await fetch(path + query, {
    method,
    ...(fields && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(fields) }),
  }).catch(() => {
    const description = 'Latchkey cannot be reached. Is it running?';
    throw new LatchkeyError({ error: 'network', description, summary: `${request} → no answer` });
  });
  const body = await response.json().catch(() => ({}));
  const summary = `${request} → ${response.status}, ${Math.round(performance.now() - begun)} ms`;
  if (response.ok) return { body, summary };
  const { error = 'unknown', error_description: description = 'Latchkey gave an answer without a reason.' } =
    body;
  throw new LatchkeyError({ error, description, status: response.status, summary });
}
