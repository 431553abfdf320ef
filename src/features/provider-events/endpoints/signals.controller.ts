import {
  Controller,
  createParamDecorator,
  HttpCode,
  Ip,
  Post,
  UseFilters,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { RequestOrigin, type Origin } from '../../../audit/audit-event.js';
import { ERROR_STATUS } from '../../../platform/errors/oauth-error.js';
import { Public } from '../../../platform/http/access.js';
import { OAuthErrorFilter } from '../../../platform/http/errors/oauth-error.filter.js';
import { BodyReader, UnreadBody } from '../../../platform/http/parameters/body.js';
import { parseBody } from '../../../platform/http/parameters/parse-body.js';
import { RateLimit } from '../../../platform/http/rate-limit.js';
import { Signals } from '../effect/signals.service.js';
import { SetError } from '../verify/set-claims.js';

const TYPE = 'application/secevent+jwt';
const MOST_VALUES = 10_000;

/** Reads a token that is the whole body (RFC 8935 §2.1). */
class SetReader extends BodyReader {
  protected override parse(body: Buffer | undefined): { readonly token: string } {
    const token = body?.toString('latin1').trim();
    const parts = /^([\w-]+)\.([\w-]+)\.[\w-]+$/.exec(token ?? '');
    if (token === undefined || !parts) throw noSet();
    // Bounds of levels and values, as for every JSON (docs/security.md#requests).
    for (const part of parts.slice(1))
      parseBody(Buffer.from(part, 'base64url'), 'application/json', MOST_VALUES);
    return { token };
  }
}

const reader = new SetReader({ kibibytes: 64, values: MOST_VALUES, mayBeCompressed: false }, [TYPE]);

/** Injects the token of the body. */
const SecurityEventToken = createParamDecorator(
  async (_data: unknown, context: ExecutionContext): Promise<string> => {
    const { body } = context.switchToHttp().getRequest<Request & { body?: unknown }>();
    if (!(body instanceof UnreadBody)) throw noSet();
    return ((await body.read(reader)) as { token: string }).token;
  },
);

function noSet(): SetError {
  return new SetError('invalid_request', `the body must be a signed token with the type ${TYPE}`);
}

/** Writes errors as `{err, description}`. If the database is away, a transmitter shall send again. */
const errorFilter = new OAuthErrorFilter(ERROR_STATUS, (error, _request, response: Response) => {
  if (error.error === 'server_error' && 'Retry-After' in error.headers) response.status(503);
  const err = error instanceof SetError ? error.err : error.error;
  response.json({ err, description: error.description });
  return true;
});

/** Returns a controller for one provider: the path exists for providers with `signals=on` only. */
export function signalsOf(provider: string): Type {
  @Public()
  @UseFilters(errorFilter)
  @Controller(`providers/${provider}`)
  class SignalsController {
    constructor(private readonly signals: Signals) {}

    /** Receives an event of the provider's transmitter (RFC 8935); its signature authenticates it. */
    @RateLimit({ largestToken: 9216 })
    @Post('signals')
    @HttpCode(202)
    async receive(
      @SecurityEventToken() token: string,
      @RequestOrigin() origin: Origin,
      @Ip() address?: string,
    ): Promise<void> {
      await this.signals.receive(provider, token, origin, address);
    }
  }
  return SignalsController;
}
