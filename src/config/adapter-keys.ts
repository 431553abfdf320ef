import * as kinds from './kinds.js';
import type { Setting } from './setting.js';
import { endpointUrl } from './url-kinds.js';

const section = 'Providers';

/** The keys of `providers.<name>.<key>` that the adapters `oidc` and `oauth2` read, as options (contract §2). */
export const adapterKeys = {
  scope: {
    name: 'scope',
    section,
    kind: kinds.text,
    defaultShown: '`openid profile email` for `oidc`',
    doc: '`oidc`, `oauth2`: what to ask the provider for.',
  },
  userId: {
    name: 'claim_user_id',
    section,
    kind: kinds.text,
    defaultShown: '`sub`',
    doc: '`oidc`, `oauth2`: where the id of the user stands, as a dotted path. Several paths, separated by commas, are tried in turn, here and below.',
  },
  username: {
    name: 'claim_username',
    section,
    kind: kinds.text,
    defaultShown: '`preferred_username,name`',
    doc: '`oidc`, `oauth2`: where the display name stands.',
  },
  email: {
    name: 'claim_email',
    section,
    kind: kinds.text,
    defaultShown: '`email`',
    doc: '`oidc`, `oauth2`: where the e-mail address stands.',
  },
  avatarUrl: {
    name: 'claim_avatar_url',
    section,
    kind: kinds.text,
    defaultShown: '`picture`',
    doc: '`oidc`, `oauth2`: where the address of the avatar stands, or how it is made (`https://img.example/{id}/{hash}.png`).',
  },
  authorizeUrl: {
    name: 'authorize_url',
    section,
    kind: endpointUrl,
    doc: '`oauth2`: the authorization page. In production `https:`, unless the host is loopback, here and below.',
  },
  tokenUrl: {
    name: 'token_url',
    section,
    kind: endpointUrl,
    doc: '`oauth2`: where a code is redeemed.',
  },
  userinfoUrl: {
    name: 'userinfo_url',
    section,
    kind: endpointUrl,
    doc: '`oauth2`: where an access token tells who has signed in.',
  },
  tokenEndpointAuthMethod: {
    name: 'token_endpoint_auth_method',
    section,
    kind: kinds.oneOf('client_secret_basic', 'client_secret_post'),
    defaultShown:
      '`client_secret_post` where the discovery document lists it, else `client_secret_basic`; for `oauth2` `client_secret_post`',
    doc: '`oidc`, `oauth2`: how the client secret is sent, in a header or in the form.',
  },
} as const satisfies Record<string, Setting<unknown>>;
