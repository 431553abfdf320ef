// An adapter for a company whose identity provider speaks OpenID Connect, but keeps the groups in a directory of its own.
// It extends the built-in adapter `oidc`, with all its settings: discovery, PKCE, nonce, verification of the ID token.
//
//   providers.corp.adapter=./adapters/corp.js
//   providers.corp.url=https://login.corp.example           # the issuer
//   providers.corp.client_id=latchkey
//   providers.corp.client_secret=…
//   providers.corp.claims=groups=groups
//   providers.corp.groups_url=https://directory.corp.example/me/groups    # answers {"groups": [{"name": "staff"}]}
import { OidcAdapter } from 'latchkey/adapter';

const LARGEST_ANSWER = 64 * 1024;

export default new (class extends OidcAdapter {
  async check(provider) {
    if (!URL.canParse(provider.options.groups_url ?? '')) {
      throw Object.assign(new Error('it is no URL'), { error: 'invalid_request', setting: 'groups_url' });
    }
    await super.check(provider); // the discovery document
  }

  /** Adds the groups of the directory, and refuses people without any. */
  async identityOf(provider, claims, { accessToken, signal }) {
    const response = await fetch(provider.options.groups_url, {
      headers: { Accept: 'application/json', Authorization: `Bearer ${accessToken}` },
      redirect: 'error', // the token goes to this address and nowhere else
      signal, // 5 s for the whole sign-in
    });
    if (!response.ok) throw new Error(`the directory answered with status ${response.status}`);
    const groups = (await readJson(response)).groups.map(({ name }) => name);
    if (groups.length === 0) throw Object.assign(new Error('without a group'), { error: 'access_denied' });
    const identity = await super.identityOf(provider, claims, { accessToken, signal });
    return { ...identity, claims: { ...identity.claims, groups } };
  }
})();

async function readJson(response) {
  let text = '';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const part of response.body) {
    text += decoder.decode(part, { stream: true });
    if (text.length > LARGEST_ANSWER) throw new Error('the directory answered with too much');
  }
  return JSON.parse(text + decoder.decode());
}
