import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Server } from 'socket.io';
import { OAuthError } from '../../errors/oauth-error.js';
import { toServerError } from '../../errors/server-error.js';
import { refusalText, refuse } from '../../http/refusal.js';
import { ANSWER_HEADERS } from '../../http/security-headers.js';

/** @throws OAuthError the answer to a refused handshake */
type Judge = (request: IncomingMessage) => Promise<void>;

/**
 * Has every handshake judged before there is a transport: as an HTTP request, so that a refused one costs nothing more.
 * Requests of an open Engine.IO session (polls, posts, upgrades) are not handshakes.
 */
export function limitHandshakes(server: Server, judge: Judge): void {
  server.engine.use((request: IncomingMessage, response: object, next: () => void) => {
    // Engine.IO answers before Express, so the headers of all answers are set here too. An upgrade has no response.
    if (response instanceof ServerResponse) response.setHeaders(new Map(Object.entries(ANSWER_HEADERS)));
    const { _query: query } = request as IncomingMessage & { _query: { sid?: string } }; // as Engine.IO has parsed it
    if (query.sid) next();
    else admit(request, response, judge, next).catch(() => request.socket.destroy()); // Engine.IO has thrown
  });
}

async function admit(
  request: IncomingMessage,
  response: object,
  judge: Judge,
  next: () => void,
): Promise<void> {
  const { socket } = request;
  const isUpgrade = !(response instanceof ServerResponse);
  if (isUpgrade) socket.on('error', ignore).pause(); // nobody else listens yet: a reset would end the process
  try {
    await judge(request);
    if (socket.destroyed) return; // it has waited, and its client is gone
    if (isUpgrade) socket.off('error', ignore);
    next();
    if (isUpgrade) socket.resume(); // what it has sent meanwhile
  } catch (error) {
    const refusal = error instanceof OAuthError ? error : toServerError(error);
    if (isUpgrade) refuseUpgrade(request, refusal);
    else refuse(response, refusal);
  }
}

/** Written here, because Engine.IO can only hang up on an upgrade that it refuses. */
function refuseUpgrade({ socket }: IncomingMessage, refusal: OAuthError): void {
  socket.write(refusalText(refusal));
  socket.destroySoon();
}

const ignore = (): void => undefined;
