import { Prover, type BoundSession } from '../bound-session.js';
import { postRequest, type Script } from './script.js';

/** More than any target answers on the machines that this has run on. */
const MOST_PER_MS = 12;

export function refreshWithProofScript(sessions: readonly BoundSession[]): (milliseconds: number) => Script {
  const provers = sessions.map(({ key }) => new Prover(key));
  const write = (i: number): Buffer => {
    const at = i % sessions.length;
    const { refreshToken: refresh_token } = sessions[at]!;
    return postRequest('/oauth2/refresh', { refresh_token }, `DPoP: ${provers[at]!.proof()}\r\n`);
  };
  return (milliseconds) => {
    const requests = Array.from({ length: milliseconds * MOST_PER_MS }, (_, i) => write(i));
    let next = 0;
    return (connection, done) => () => {
      connection.send(requests[next] ?? write(next), done);
      next++;
    };
  };
}
