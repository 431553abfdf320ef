import { Injectable } from '@nestjs/common';
import type { Socket, Server } from 'socket.io';
import { ServerResponse, type IncomingMessage } from 'node:http';
import { OAuthError } from '../../errors/oauth-error.js';
import { OpenFiles } from '../../http/server/open-files.js';
import { RateLimits } from '../../http/rate-limit.js';
import { UUID } from '../../http/parameters/uuid.js';
import type { VerifiedToken } from '../../token/access-tokens/access-token.verifier.js';
import { JwtGuard } from '../../token/guard/jwt.guard.js';
import { Admission } from './admission.js';
import { toServerError } from '../../errors/server-error.js';
import { refusalText, refuse } from '../../http/server/refusal.js';
import { ANSWER_HEADERS } from '../../http/middleware/security-headers.js';

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

/** What the handshake of an admitted client says. */
export interface Admitted extends VerifiedToken {
  /** Where it goes on in the history; undefined: it begins now. */
  readonly from: ResumePoint | undefined;
}

/** The last event that a client has. */
export interface ResumePoint {
  readonly offset: number;
  /** Undefined where the client does not know it. */
  readonly id: string | undefined;
}

/** Judges handshakes: whether there is room, whose the token is (which the guard says), and where the client goes on. */
@Injectable()
export class Handshake {
  constructor(
    private readonly guard: JwtGuard,
    private readonly admission: Admission,
    private readonly limits: RateLimits,
    private readonly files: OpenFiles,
  ) {}

  /**
   * Resolves when an address may go on with a handshake: asked before there is a transport.
   * @throws OAuthError `slow_down`, or `server_error` while the service stops
   */
  async begin(address: string | undefined): Promise<void> {
    this.admission.assertRoomFor(address);
    await this.files.assertRoomForSocket();
    await this.limits.count('connect', address);
    await this.admission.transport(address);
    this.admission.assertRoomFor(address); // others have come in while it waited
  }

  /**
   * Who a client is, and where it goes on.
   * @param address that the handshake came from
   * @throws OAuthError `invalid_token`, `invalid_request` or `slow_down`
   */
  async admit({ handshake }: Pick<Socket, 'handshake'>, address: string | undefined): Promise<Admitted> {
    const from = readResumePoint(handshake.auth);
    return { ...(await this.admission.token(() => this.guard.admitHandshake(handshake, address))), from };
  }
}

/** `id` without `offset` is ignored (contract §7). */
function readResumePoint({ offset, id }: Readonly<Record<string, unknown>>): ResumePoint | undefined {
  if (offset === undefined || offset === null) return undefined;
  if (!Number.isSafeInteger(offset) || (offset as number) < 0) {
    throw new OAuthError('invalid_request', 'offset must be a whole number that is not negative');
  }
  if (id === undefined || id === null) return { offset: offset as number, id: undefined };
  if (typeof id === 'string' && UUID.test(id)) return { offset: offset as number, id: id.toLowerCase() };
  throw new OAuthError('invalid_request', 'id must be the UUID of an event');
}
