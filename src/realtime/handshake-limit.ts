import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Server } from 'socket.io';
import { OAuthError } from '../errors/oauth-error.js';
import { refusalText, refuse } from '../http/refusal.js';
import { ANSWER_HEADERS } from '../http/security-headers.js';

/** @throws OAuthError what is to be answered */
type Judge = (request: IncomingMessage) => Promise<void>;

/**
 * Has every handshake judged before there is a transport: with HTTP, so that whoever is refused costs nothing more.
 * Requests of an open session (polls, posts, upgrades) are no handshakes.
 */
export function limitHandshakes(server: Server, judge: Judge): void {
  server.engine.use((request: IncomingMessage, response: object, next: () => void) => {
    // Engine.IO answers before Express: its answers carry what all others do. An upgrade has none to carry it.
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
  const isUpgrade = !(response instanceof ServerResponse);
  if (isUpgrade) request.socket.on('error', ignore); // nobody else listens now: a reset would end the process
  try {
    await judge(request);
    request.socket.off('error', ignore);
    next();
  } catch (error) {
    const refusal =
      error instanceof OAuthError ? error : new OAuthError('server_error', 'something went wrong');
    if (isUpgrade) refuseUpgrade(request, refusal);
    else refuse(response, refusal);
  }
}

/** Engine.IO knows no answer to an upgrade but to hang up. */
function refuseUpgrade({ socket }: IncomingMessage, refusal: OAuthError): void {
  socket.write(refusalText(refusal));
  socket.destroySoon();
}

const ignore = (): void => undefined;
