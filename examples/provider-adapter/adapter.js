// An adapter for your own provider: copy this file, and set `providers.<name>.adapter` to its path.
// The provider of this example has its login page at /login, and redeems codes at /api/login-codes.

const LARGEST_ANSWER = 64 * 1024;

/** @type {import('latchkey/adapter').ProviderAdapter} */
export default {
  /** Optional: checks the settings before the service starts. With an error of this code it does not start. */
  check(provider) {
    if (!provider.url) throw Object.assign(new Error('url is unset'), { error: 'invalid_request' });
  },
  // issuer: () => 'https://login.corp.example', // if your provider puts `iss` into the callback (RFC 9207)

  /** Returns the address of the login page. It must redirect to `redirectUri` with `code` and `state`. */
  authorizationUrl(provider, { state, redirectUri }) {
    const url = new URL(`${provider.url}/login`);
    url.search = new URLSearchParams({ app: provider.clientId, return_to: redirectUri, state }).toString();
    return url; // or { url, memory: { … } }: exchange() gets `memory` back
  },

  /** Redeems the code at the provider, and returns the user. */
  async exchange(provider, { code, signal }) {
    const response = await fetch(`${provider.url}/api/login-codes`, {
      method: 'POST',
      redirect: 'error', // the secret goes to this address and nowhere else
      signal, // 5 s in all
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify({ app: provider.clientId, secret: provider.clientSecret, code }),
    });
    // Report why a code was refused: invalid_grant, invalid_client, invalid_request; access_denied if the user may not
    // sign in. Every other error becomes server_error. Never put the code or the secret into a message: it is logged.
    if (response.status === 403) throw Object.assign(new Error('code refused'), { error: 'invalid_grant' });
    if (!response.ok) throw new Error(`the provider answered with status ${response.status}`);
    const user = await readJson(response);
    // The id of a user must never change, and must be a string: large numbers lose digits in JSON.
    return { provider_user_id: user.id, username: user.name, email: user.mail, avatar_url: user.photo };
  },
};

async function readJson(response) {
  let text = '';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const part of response.body) {
    text += decoder.decode(part, { stream: true });
    if (text.length > LARGEST_ANSWER) throw new Error('the provider answered with too much');
  }
  return JSON.parse(text + decoder.decode());
}
