import * as kinds from './kinds.js';
import { adapterName } from './provider-adapters.js';
import type { Setting } from './setting.js';
import { baseUrl, endpointUrl, isRedirectUri } from './url-kinds.js';

/** The keys of `providers.<name>.<key>` that the service reads itself (spec §4.6; contract §2). */
export const providerKeys = {
  enabled: {
    name: 'enabled',
    section: 'Providers',
    kind: kinds.boolean,
    defaultShown: '`true` once `url` is set, or `client_id` for an adapter that needs no `url`',
    doc: 'Whether clients may sign in with it.',
  },
  url: {
    name: 'url',
    section: 'Providers',
    kind: baseUrl,
    doc: 'Base address of the provider, for `oidc` its issuer, without query, fragment and user info; one trailing slash is dropped. In production `https:`, unless the host is loopback.',
  },
  clientId: {
    name: 'client_id',
    section: 'Providers',
    kind: kinds.text,
    doc: 'Client identifier agreed with the provider.',
  },
  clientSecret: {
    name: 'client_secret',
    section: 'Providers',
    kind: kinds.text,
    secret: true,
    doc: 'Client secret agreed with the provider; in production at least 16 characters.',
  },
  adapter: {
    name: 'adapter',
    section: 'Providers',
    kind: adapterName,
    default: 'contract',
    doc: "How the service speaks with it: `contract` (the two endpoints that the specification asks of a provider), `oidc` (any OpenID Connect provider), `oauth2` (a plain OAuth 2.0 provider), `github`, `discord`, `google` (these need nothing but credentials), or an integrator's own: a file that begins with `./` or `/`, or an installed package.",
  },
  redirectUris: {
    name: 'redirect_uris',
    section: 'Providers',
    kind: kinds.list('absolute http(s) URLs or URIs of a private scheme with a dot', isRedirectUri),
    defaultShown: '`REDIRECT_URIS`',
    doc: "The provider's own allow-list of redirect URIs, instead of `REDIRECT_URIS`.",
  },
  issuer: {
    name: 'issuer',
    section: 'Providers',
    kind: endpointUrl,
    defaultShown: 'what the adapter knows: `oidc`, `github`, `discord` and `google` do',
    doc: 'What `iss` in the callback must be (RFC 9207), as an exact string. A callback that has one is refused where it is not known.',
  },
} as const satisfies Record<string, Setting<unknown>>;
