import { parseCookie, stringifySetCookie } from 'cookie';
import type { Request } from 'express';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { html, type Html } from '../../platform/http/page/html.js';
import { destinationOf, layout, type Page } from '../../platform/http/page/layout.js';
import { listed, servingDomain } from '../../provider/listed-provider.js';
import { allowedParams } from '../provider-params.dto.js';
import type { ClientAuthorizeDto } from './clients.dto.js';

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

/**
 * Name of the provider that this browser used last. It only orders the page, so it needs no signature; it is
 * compared with the list. Other paths do not get it.
 */
const COOKIE = 'latchkey_provider';
const PATH = '/oauth2/authorize';
/** Seconds: a year. */
const COOKIE_LIFE = 365 * 86_400;

/** Reads the provider that the browser used last. It may be anything: compare it with the list. */
export function lastProvider({ headers }: Request): string | undefined {
  return parseCookie(headers.cookie ?? '')[COOKIE];
}

/** Returns the cookie that remembers a provider. `Lax`, since the client's page sends the browser here. */
export function buildCookie(name: string, isSecure: boolean): string {
  return stringifySetCookie({
    name: COOKIE,
    value: name,
    path: PATH,
    maxAge: COOKIE_LIFE,
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
  });
}

/** Parameters of the client's request, which the pages repeat. */
type Parameters = readonly (readonly [name: string, value: string])[];

function linkTo(provider: string, parameters: Parameters): string {
  return `?${new URLSearchParams({ ...Object.fromEntries(parameters), provider }).toString()}`;
}

/**
 * Page on which the user chooses a provider.
 * @param last shown first, if it is listed
 */
function providerPage(
  redirectUri: string,
  parameters: Parameters,
  providers: readonly ProviderSettings[],
  last: string | undefined,
): Page {
  const link = ({ name, label }: ReturnType<typeof listed>): Html => {
    const tag = name === last ? html`<span class="tag">Last used</span>` : undefined;
    return html`<li>
      <a href="${linkTo(name, parameters)}">${renderLogo(label)}<span>${label}</span>${tag}</a>
    </li>`;
  };
  const isLast = ({ name }: ProviderSettings): boolean => name === last;
  const ordered = [...providers.filter(isLast), ...providers.filter((one) => !isLast(one))];
  return layout(
    { title: 'Sign in', brand: 'Sign in' },
    html`<h1>Where do you want to sign in?</h1>
      <p class="lead">to continue to <strong>${destinationOf(redirectUri)}</strong></p>
      <ul class="choices">
        ${ordered.map((one) => link(listed(one)))}
      </ul>`,
  );
}

/** Inside of the page: its policy allows no address. Without one for the label: nothing. */
function renderLogo(label: string): Html | undefined {
  const shapes = LOGOS.get(label.toLowerCase());
  if (!shapes) return undefined;
  return html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
    ${Object.entries(shapes).map(([fill, path]) => html`<path fill="${fill}" d="${path}" />`)}
  </svg>`;
}

/**
 * Logos of the SDK's buttons (provider-buttons.ts of `@latchkey/client`) by label: paths by fill, in a square
 * of 24.
 */
const LOGOS = new Map<string, Readonly<Record<string, string>>>(
  Object.entries({
    google: {
      '#4285f4':
        'M22.56 12.25c0-.78-.07-1.53-.2-2.25H12v4.26h5.92a5.06 5.06 0 0 1-2.2 3.32v2.77h3.57c2.08-1.92 3.27-4.74 3.27-8.1z',
      '#34a853':
        'M12 23c2.97 0 5.46-.98 7.28-2.66l-3.57-2.77a6.6 6.6 0 0 1-3.71 1.06c-2.86 0-5.29-1.93-6.16-4.53H2.18v2.84A11 11 0 0 0 12 23z',
      '#fbbc05':
        'M5.84 14.09A6.6 6.6 0 0 1 5.49 12c0-.73.13-1.43.35-2.09V7.07H2.18a11 11 0 0 0 0 9.86l3.66-2.84z',
      '#ea4335':
        'M12 5.38c1.62 0 3.06.56 4.21 1.64l3.15-3.15C17.45 2.09 14.97 1 12 1A11 11 0 0 0 2.18 7.07l3.66 2.84C6.71 7.31 9.14 5.38 12 5.38z',
    },
    github: {
      currentColor:
        'M12 .3a12 12 0 0 0-3.8 23.38c.6.12.83-.26.83-.57L9 21.07c-3.34.72-4.04-1.61-4.04-1.61-.55-1.39-1.34-1.76-1.34-1.76-1.08-.74.09-.73.09-.73 1.2.09 1.84 1.24 1.84 1.24 1.07 1.83 2.8 1.3 3.49 1 .1-.78.42-1.31.76-1.61-2.67-.3-5.47-1.33-5.47-5.93 0-1.31.47-2.38 1.24-3.22-.14-.3-.54-1.52.1-3.18 0 0 1-.32 3.3 1.23a11.5 11.5 0 0 1 6 0c2.28-1.55 3.29-1.23 3.29-1.23.64 1.66.24 2.88.12 3.18a4.65 4.65 0 0 1 1.23 3.22c0 4.61-2.81 5.63-5.48 5.92.42.36.81 1.1.81 2.22l-.01 3.29c0 .31.2.69.82.57A12 12 0 0 0 12 .3',
    },
    microsoft: {
      '#f25022': 'M1 1h10.4v10.4H1z',
      '#7fba00': 'M12.6 1H23v10.4H12.6z',
      '#00a4ef': 'M1 12.6h10.4V23H1z',
      '#ffb900': 'M12.6 12.6H23V23H12.6z',
    },
  }),
);
