import type * as types from './adapter-types.js';
import { OAuth2Adapter as BuiltInOAuth2 } from './adapters/oauth2.adapter.js';
import { OidcAdapter as BuiltInOidc } from './adapters/oidc.adapter.js';

// `latchkey/adapter` at run time: the built-in adapters, for integrators' own to extend.

export const OidcAdapter: typeof types.OidcAdapter = BuiltInOidc;
export const OAuth2Adapter: typeof types.OAuth2Adapter = BuiltInOAuth2;
