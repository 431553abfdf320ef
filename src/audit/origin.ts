import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request as HttpRequest } from 'express';
import { keptAddress } from '../http/network.js';
import { cleanUserAgent } from '../http/user-agent.js';
import type { Actor, Origin } from './audit-event.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by the guard. */
    actor?: Readonly<Actor>;
  }
}

const LONGEST_USER_AGENT = 1024;

/** Injects where the request came from: `@From() origin: Origin`. */
export const From = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  originOf(context.switchToHttp().getRequest<HttpRequest>()),
);

/** Returns where a request came from. Without a guard that knows the actor, it is a user, whose id the caller may add. */
export function originOf(request: HttpRequest): Origin {
  const { session, actor } = request;
  return {
    address: keptAddress(request),
    userAgent: cleanUserAgent(request.headers['user-agent']?.slice(0, LONGEST_USER_AGENT)),
    requestId: request.id,
    actor: actor ?? { type: 'user', name: session?.userId },
  };
}
