import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { BodyReader, UnreadBody } from '../../../platform/http/parameters/body.js';
import { parseBody } from '../../../platform/http/parameters/parse-body.js';
import { SetError } from './set-error.js';

const TYPE = 'application/secevent+jwt';

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

const MOST_VALUES = 10_000;

const reader = new SetReader({ kibibytes: 64, values: MOST_VALUES, mayBeCompressed: false }, [TYPE]);

/** Injects the token of the body. */
export const SecurityEventToken = createParamDecorator(
  async (_data: unknown, context: ExecutionContext): Promise<string> => {
    const { body } = context.switchToHttp().getRequest<Request & { body?: unknown }>();
    if (!(body instanceof UnreadBody)) throw noSet();
    return ((await body.read(reader)) as { token: string }).token;
  },
);

function noSet(): SetError {
  return new SetError('invalid_request', `the body must be a signed token with the type ${TYPE}`);
}
