import { AuthorizeDto, Authorization } from '../../src/auth/authorize.dto.js';
import { ClientAuthorizeDto } from '../../src/auth/clients/client-authorize.dto.js';
import { ClientTokenDto } from '../../src/auth/clients/client-token.dto.js';
import { TokenDto, IssuedTokens, RefreshDto } from '../../src/auth/token.dto.js';
import { EXAMPLE } from '../examples.js';
import type { Operations } from '../operation.js';
import { RefreshedToken } from '../../src/token/refresh/token.service.js';

const tag = 'Sign-in';
const BOUND = [{}, { proof: [] }] as const;

const REFRESHED = { access_token: EXAMPLE.accessToken, token_type: 'Bearer', expires_in: 3600 };
const ISSUED = { ...REFRESHED, refresh_token: EXAMPLE.refreshToken, user_id: EXAMPLE.userId };

export const SIGN_IN: Operations = {
  'GET /oauth2/authorize': {
    id: 'authorize',
    tag,
    summary: 'Begin a sign-in',
    description:
      'Answers with the address of the provider’s page, to which the client sends the browser, and with a `state` that must come back unchanged. Without `redirect_uri` the first one allowed is taken. `code_challenge` and `code_challenge_method` go together, and bind the sign-in to the client that began it (RFC 7636).\n\nWith `response_type` it is the authorization endpoint of stock OAuth clients (RFC 6749 §4.1.1), and redirects the browser itself. Those send `client_id`, `redirect_uri`, `code_challenge` and `code_challenge_method`; without `provider` people choose one on a page. What is wrong is told in the redirect, unless it cannot be told who asks.',
    answers: {
      200: {
        description: 'Where to send the user.',
        types: [Authorization],
        orPage: true,
        examples: {
          'a sign-in': {
            redirect_url: `https://login.example/oauth2/authorize?state=${EXAMPLE.state}&client_id=latchkey&redirect_uri=http%3A%2F%2Flocalhost%3A3000%2Fcallback`,
            state: EXAMPLE.state,
            issuer: EXAMPLE.issuer,
          },
        },
      },
      302: {
        description: 'With `response_type`: to the provider, or with an error to the client.',
        headers: ['Location'],
      },
    },
    queryTypes: [AuthorizeDto, ClientAuthorizeDto],
    showsErrors: true,
    parameters: {
      provider: EXAMPLE.provider,
      redirect_uri: EXAMPLE.redirectUri,
      code_challenge: EXAMPLE.codeChallenge,
      code_challenge_method: 'S256',
    },
  },
  'POST /oauth2/token': {
    id: 'token',
    tag,
    summary: 'Exchange an authorization code for tokens',
    description:
      'The `state` is spent by every request whose parameters are well-formed: whatever fails after that begins anew at `/oauth2/authorize`. A `DPoP` proof binds the session to its key, and every refresh then needs a proof of the same key (RFC 9449). With `grant_type=refresh_token`, and without `code` and `state`, it does what `/oauth2/refresh` does.\n\nA code that begins with `lkc_` is one of our own, which a stock OAuth client has been sent: with `redirect_uri` and `code_verifier`, and without `state`.',
    answers: {
      200: {
        description: 'Tokens. The refresh token is told only here.',
        types: [IssuedTokens, RefreshedToken],
        examples: { 'a sign-in': ISSUED, 'a refresh': REFRESHED },
      },
    },
    errors: ['unsupported_grant_type', 'invalid_client', 'invalid_grant', 'invalid_dpop_proof'],
    bodyTypes: [TokenDto, ClientTokenDto, RefreshDto],
    bodies: {
      'a sign-in on a device': {
        code: EXAMPLE.code,
        state: EXAMPLE.state,
        code_verifier: EXAMPLE.codeVerifier,
        redirect_uri: EXAMPLE.redirectUri,
        device_id: EXAMPLE.deviceId,
        device_name: "Ada's laptop",
      },
      'a refresh': { grant_type: 'refresh_token', refresh_token: EXAMPLE.refreshToken },
    },
    security: BOUND,
  },
  'POST /oauth2/refresh': {
    id: 'refresh',
    tag,
    summary: 'Obtain a new access token',
    description:
      'The refresh token is neither replaced, nor extended, nor revoked by it. A session that was begun with a `DPoP` proof needs a new proof of the same key.',
    answers: {
      200: {
        description: 'A new access token.',
        types: [RefreshedToken],
        examples: { 'a refresh': REFRESHED },
      },
    },
    errors: ['invalid_grant', 'invalid_dpop_proof'],
    bodies: { 'a refresh': { refresh_token: EXAMPLE.refreshToken } },
    security: BOUND,
  },
  'POST /oauth2/revoke': {
    id: 'revoke',
    tag,
    summary: 'End the session of a token',
    description:
      'Whoever holds the token may (RFC 7009); there is no other credential. An unknown token is answered in the same way.',
    answers: {
      200: {
        description: 'The token is worth nothing now.',
        schema: { type: 'object', additionalProperties: false },
        examples: { always: {} },
      },
    },
    errors: ['slow_down'],
    bodies: { 'a sign-out': { token: EXAMPLE.refreshToken } },
  },
  'GET /providers/{name}/callback': {
    id: 'providerCallback',
    tag,
    summary: 'Where a provider sends the browser back, for a stock OAuth client',
    description:
      'The address to register with the provider. The browser goes on to the client, with a code of our own, the client’s `state` and `iss`, or with an error.',
    answers: { 302: { description: 'To the client.', headers: ['Location'] } },
    errors: ['invalid_grant', 'not_found'],
    showsErrors: true,
    parameters: { name: 'corp', code: EXAMPLE.code, state: EXAMPLE.state },
  },
  'POST /providers/{name}/backchannel-logout': {
    id: 'backchannelLogout',
    tag,
    summary: 'Where an OpenID provider ends sessions',
    description:
      'Called by the provider (OpenID Connect Back-Channel Logout 1.0), which proves itself by the token’s signature. There is one such path for each provider whose adapter is `oidc`. 200 also where nobody is known.',
    answers: {
      200: {
        description: 'The sessions have ended.',
        schema: { type: 'object', additionalProperties: false },
        examples: { always: {} },
      },
      503: {
        description:
          '`server_error`: the keys of the provider cannot be fetched, or not again yet. With `Retry-After`.',
        schema: { $ref: '#/components/schemas/Error' },
        headers: ['Retry-After'],
      },
    },
    errors: ['slow_down'],
    bodies: { 'a logout': { logout_token: EXAMPLE.logoutToken } },
    parameters: { name: 'corp' },
  },
};
