import type { WithHeaders } from './bearer.js';
import type { Claims } from './claims.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Authenticator } from './verifier.js';

interface Context {
  switchToHttp(): { getRequest(): unknown; getResponse(): unknown };
}

/** Express's response and Fastify's reply. */
interface Response {
  header(name: string, value: string): unknown;
}

type ExceptionClass = new (body: object, status: number, options: { cause: unknown }) => Error;

/**
 * Guard for NestJS, over Express or Fastify: sets `request.claims`, or throws an exception with the answer.
 * @param HttpException that of `@nestjs/common`: the application's own, so that its filters know it
 */
export function authenticate(
  verifier: Authenticator,
  HttpException: ExceptionClass,
): { canActivate(context: Context): Promise<true> } {
  return {
    async canActivate(context) {
      const http = context.switchToHttp();
      const request = http.getRequest() as WithHeaders & { claims: Claims };
      try {
        request.claims = await verifier.authenticate(request);
        return true;
      } catch (error) {
        if (!(error instanceof LatchkeyError)) throw error;
        const response = http.getResponse() as Response;
        for (const [name, value] of Object.entries(error.headers)) response.header(name, value);
        throw new HttpException(error.body, error.status, { cause: error });
      }
    },
  };
}
