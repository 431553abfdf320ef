import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { BodyReader, UnreadBody } from '../../../platform/http/parameters/body.js';
import { isObject } from '../../../platform/http/parameters/json.js';
import { invalid } from './scim-error.js';

const TYPES = ['application/scim+json', 'application/json'];

/** A member takes some 50 bytes at least, and has up to five values. */
const readers = {
  search: new BodyReader({ kibibytes: 64, values: 1000, mayBeCompressed: true }, TYPES),
  user: new BodyReader({ kibibytes: 1024, values: 20_000, mayBeCompressed: true }, TYPES),
  change: new BodyReader({ kibibytes: 1024, values: 65_000, mayBeCompressed: true }, TYPES),
  group: new BodyReader({ kibibytes: 4096, values: 300_000, mayBeCompressed: true }, TYPES),
};

/** Injects the body: a JSON object. A whole `group` may be larger, with all its members. */
export const ScimBody = createParamDecorator(
  async (size: keyof typeof readers | undefined, context: ExecutionContext) => {
    const request = context.switchToHttp().getRequest<Request & { body?: unknown }>();
    const { body } = request;
    const reader = readers[size ?? (request.directory!.kind === 'Group' ? 'group' : 'user')];
    const value = body instanceof UnreadBody ? await body.read(reader) : undefined;
    if (!isObject(value)) throw invalid('invalidSyntax', 'the body must be a JSON object');
    return value;
  },
);
