import { inTurn, postRequest, type Script } from './script.js';

/** W1: one refresh after the other, each with another of many tokens. */
export function refreshScript(refreshTokens: readonly string[]): Script {
  return inTurn(
    refreshTokens.map((refresh_token) => postRequest('/oauth2/refresh', { refresh_token })),
    '"access_token":"ey',
  );
}
