// An adapter for CAS (Apereo CAS, LemonLDAP::NG, …), protocol 3. A CAS service has neither credentials nor a state:
// the state is in the address to which CAS sends the browser back, and what it brings is a ticket instead of a code.
//
//   providers.campus.adapter=./adapters/cas.js
//   providers.campus.url=https://cas.example.edu/cas       # below it: /login, /p3/serviceValidate
//   providers.campus.client_id=latchkey                    # CAS knows neither of the two; any text of 16 characters
//   providers.campus.client_secret=not-used-by-cas-at-all
//   providers.campus.attribute_username=displayName        # attributes that CAS releases; likewise for email, avatar_url

const LARGEST_ANSWER = 64 * 1024;

/** @type {import('latchkey/adapter').ProviderAdapter} */
export default {
  check({ url }) {
    if (!url) throw Object.assign(new Error('it is unset'), { error: 'invalid_request', setting: 'url' });
  },

  authorizationUrl({ url }, { redirectUri, state }) {
    const page = new URL(`${url}/login`);
    page.searchParams.set('service', serviceOf(redirectUri, state));
    return page;
  },

  /** Since the ticket is good for this service address alone, it cannot be redeemed with another state. */
  async exchange({ url, options }, { code, redirectUri, state, signal }) {
    const query = new URLSearchParams({
      service: serviceOf(redirectUri, state),
      ticket: code,
      format: 'JSON',
    });
    const response = await fetch(`${url}/p3/serviceValidate?${query}`, { redirect: 'error', signal });
    if (!response.ok) throw new Error(`CAS answered with status ${response.status}`);
    const { serviceResponse } = await readJson(response);
    const failure = serviceResponse?.authenticationFailure?.code;
    if (failure === 'INVALID_TICKET' || failure === 'INVALID_SERVICE')
      throw Object.assign(new Error('CAS refused the ticket'), { error: 'invalid_grant' });
    if (failure) throw new Error('CAS could not validate the ticket');
    const { user, attributes = {} } = serviceResponse?.authenticationSuccess ?? {};
    const attribute = (field, usual) => [attributes[options[`attribute_${field}`] ?? usual]].flat()[0];
    return {
      provider_user_id: user,
      username: attribute('username', 'displayName'),
      email: attribute('email', 'mail'),
      avatar_url: attribute('avatar_url', 'picture'),
    };
  },
};

/** The redirect URI as it is, and the state behind it: CAS compares and keeps the whole address. */
function serviceOf(redirectUri, state) {
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}state=${state}`;
}

async function readJson(response) {
  let text = '';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const part of response.body) {
    text += decoder.decode(part, { stream: true });
    if (text.length > LARGEST_ANSWER) throw new Error('CAS answered with too much');
  }
  try {
    return JSON.parse(text + decoder.decode());
  } catch {
    throw new Error('CAS answered with something that is not JSON'); // the parser would quote it
  }
}
