import { postRequest, type Script } from './script.js';

/** W1: one refresh after the other, each with another of many tokens; all requests are written out beforehand. */
export function refreshScript(refreshTokens: readonly string[]): Script {
  const requests = refreshTokens.map((refresh_token) => postRequest('/oauth2/refresh', { refresh_token }));
  let next = 0;
  return (connection, done) => () => {
    const request = requests[next]!;
    next = (next + 1) % requests.length;
    connection.send(request, done);
  };
}
