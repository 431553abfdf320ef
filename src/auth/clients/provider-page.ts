import type { ProviderSettings } from '../../config/settings/settings.js';
import { html, type Html } from '../../http/page/html.js';
import { layout } from '../../http/page/layout.js';
import { listed } from '../../provider/listed-provider.js';
import type { ClientAuthorizeDto } from './client-authorize.dto.js';

/** The page on which the user chooses where to sign in: a link for each provider, which repeats the client's request. */
export function providerPage(request: ClientAuthorizeDto, providers: readonly ProviderSettings[]): Html {
  const parameters = Object.entries(request).filter(([, value]) => value !== undefined) as [string, string][];
  const link = (provider: ProviderSettings): Html => {
    const query = new URLSearchParams([...parameters, ['provider', provider.name]]);
    return html`<li><a href="?${query.toString()}">${listed(provider).label}</a></li>`;
  };
  return layout(
    { title: 'Sign in', brand: 'Sign in' },
    html`<h1>Where do you want to sign in?</h1>
      <p class="lead">to continue to <strong>${destinationOf(request.redirect_uri)}</strong></p>
      <ul class="choices">
        ${providers.map(link)}
      </ul>`,
  );
}

/** Where the user will be afterwards, in a form that people know: the host, or the name of an app's own scheme. */
function destinationOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : protocol.slice(0, -1);
}
