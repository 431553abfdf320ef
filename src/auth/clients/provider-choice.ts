import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { html } from '../../platform/http/page/html.js';
import { destinationOf, layout, type Page } from '../../platform/http/page/layout.js';
import { servingDomain } from '../../provider/listed-provider.js';
import { allowedParams } from '../provider-params.dto.js';
import type { ClientAuthorizeDto } from './clients.dto.js';
import { linkTo, providerPage, type Parameters } from './provider-page.js';

/** The page on which the user chooses a provider, or the one before. */
export interface ProviderChoice {
  readonly page: Page;
  /** Whether the page has a form, which its policy must allow. */
  readonly hasForm?: true;
  /**
   * The address to which the browser goes at once. Not by a redirect: after a form, Chromium applies
   * `form-action` to it.
   */
  readonly refresh?: string;
}

const WITH_DOMAIN = /@[^\s@]+$/;

/**
 * Lets the user choose one of several providers. If providers serve domains, a form first asks for an e-mail
 * address, whose domain chooses (docs/guides/access-policy.md#which-provider).
 * @param request the client's; its `email` is the user's answer
 * @param query of this request, as it came
 * @param last provider that the browser used last
 */
export function chooseProvider(
  request: ClientAuthorizeDto,
  query: Readonly<Record<string, unknown>>,
  providers: readonly ProviderSettings[],
  last: string | undefined,
): ProviderChoice {
  const { redirect_uri: redirectUri, email = '' } = request;
  const all = parametersOf(request, query, providers);
  if (!providers.some(({ emailDomains }) => emailDomains)) {
    return { page: providerPage(redirectUri, all, providers, last) };
  }
  const others = all.filter(([name]) => name !== 'email' && name !== 'login_hint');
  const serving = WITH_DOMAIN.test(email) ? servingDomain(providers, email) : [];
  if (serving.length === 0) return { page: emailPage(request, others), hasForm: true };
  const hinted: Parameters = [...others, ['login_hint', email]];
  const page = providerPage(redirectUri, hinted, serving, last);
  return { page, ...(serving.length === 1 && { refresh: linkTo(serving[0]!.name, hinted) }) };
}

/** Only the parameters that the service or a provider reads. */
function parametersOf(
  request: ClientAuthorizeDto,
  query: Readonly<Record<string, unknown>>,
  providers: readonly ProviderSettings[],
): Parameters {
  const names = [...Object.keys(request), ...providers.flatMap(({ options }) => allowedParams(options))];
  return [...new Set(names)].flatMap((name) => {
    const value = query[name];
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : [];
  });
}

/** Page with a form of one field. After an address without a provider it says so. */
function emailPage(
  { redirect_uri, email, login_hint = '' }: ClientAuthorizeDto,
  parameters: Parameters,
): Page {
  const isWrong = email !== undefined;
  const problem = html`<p class="problem" id="problem" role="alert">
    Nobody can sign in here with this address. Please check it.
  </p>`;
  const invalid = html`aria-invalid="true" aria-describedby="problem"`;
  const hidden = parameters.map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  return layout(
    { title: 'Sign in', brand: 'Sign in' },
    html`<h1>What is your e&#8209;mail address?</h1>
      <p class="lead">to continue to <strong>${destinationOf(redirect_uri)}</strong></p>
      ${isWrong ? problem : undefined}
      <form>
        ${hidden}
        <label for="email">E-mail address</label>
        <input
          type="email"
          id="email"
          name="email"
          value="${email ?? login_hint}"
          maxlength="320"
          autocomplete="username"
          required
          autofocus
          ${isWrong ? invalid : undefined}
        />
        <button>Continue</button>
      </form>`,
  );
}
