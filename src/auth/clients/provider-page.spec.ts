import { providerSettings } from '../../../test/support/provider-settings.js';
import type { ClientAuthorizeDto } from './client-authorize.dto.js';
import { providerPage } from './provider-page.js';

const page = (request: object): string =>
  providerPage(request as ClientAuthorizeDto, [
    providerSettings('acme', { label: 'Acme & Co' }),
    providerSettings('corp'),
  ]).text;

describe('the page on which the user chooses a provider', () => {
  const text = page({
    client_id: 'app',
    redirect_uri: 'https://app.example:8443/cb',
    state: 'a&b',
    nonce: undefined,
  });

  it('has a link for each, which repeats the request', () => {
    const query = 'client_id=app&redirect_uri=https%3A%2F%2Fapp.example%3A8443%2Fcb&state=a%26b&provider=';
    const encoded = query.replaceAll('&', '&amp;');
    expect(text).toContain(`<a href="?${encoded}acme">Acme &amp; Co</a>`);
    expect(text).toContain(`<a href="?${encoded}corp">corp</a>`);
    expect(text.match(/<li>/g)).toHaveLength(2);
    expect(text).not.toContain('nonce');
  });

  it('says where the user will be', () => {
    expect(text).toContain('<title>Sign in</title>');
    expect(text).toMatch(/<body>.*Sign in/s);
    expect(text).toContain('<strong>app.example:8443</strong>');
    expect(page({ redirect_uri: 'http://app.example/cb' })).toContain('<strong>app.example</strong>');
    expect(page({ redirect_uri: 'com.example.app:/cb' })).toContain('<strong>com.example.app</strong>');
    expect(page({ redirect_uri: 'httpsx://host/cb' })).toContain('<strong>httpsx</strong>');
    expect(page({ redirect_uri: 'xhttp://host/cb' })).toContain('<strong>xhttp</strong>');
  });
});
