import type { IncomingMessage, ServerResponse } from 'node:http';
import { NotFoundException } from '@nestjs/common';
import { json, text, type NextFunction, type Request, type RequestHandler } from 'express';
import { isRouted } from '../errors/allowed-methods.js';
import { OAuthError } from '../errors/oauth-error.js';
import { readForm } from './form.js';
import { DEEPEST_VALUE, faultOf } from './json-faults.js';
import { OBJECT_PARAMETERS } from './parameter.js';
import { isPlainJson, LARGEST_BODY, readPlainBody } from './plain-body.js';
import { readJson, type JsonFault } from './read-json.js';

const MOST_PARAMETERS = 100; // no client has as many

const JSON_FAULTS: Readonly<Record<JsonFault, string>> = {
  malformed: 'the body is not valid JSON',
  deep: `JSON must not be nested deeper than ${DEEPEST_VALUE}`,
  repeated: 'a member of the body is given twice',
};
const UNREADABLE = 'the body could not be read';

/** What we answer to body-parser's errors, by their `type`. Their own messages quote the body, so they are not used. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'charset.unsupported': 'the body must be UTF-8',
  'encoding.unsupported': 'this Content-Encoding is not supported',
  'entity.parse.failed': JSON_FAULTS.malformed,
  'json.deep': JSON_FAULTS.deep,
  'json.repeated': JSON_FAULTS.repeated,
  'parameters.too.many': `a form must not have more than ${MOST_PARAMETERS} parameters`,
};

const parseJson = json({ limit: LARGEST_BODY, verify: refuseFaults });
const readText = text({
  limit: LARGEST_BODY,
  type: 'application/x-www-form-urlencoded',
  verify: refuseLongForms,
});

/**
 * Reads a JSON object or a form into `request.body`, which stays undefined when nothing was sent (contract §3). The path and
 * the method are judged first: a body that no route takes is not read.
 */
export const readBody: RequestHandler = (request, response, next) => {
  if (!sendsBody(request)) return next();
  if (!isRouted(request)) return next(new NotFoundException());
  if (isPlainJson(request)) return readPlainJson(request, next);
  parseJson(request, response, (jsonError?: unknown) => {
    if (jsonError !== undefined || request.body !== undefined) return proceed(next, jsonError);
    readText(request, response, (formError?: unknown) => {
      if (formError !== undefined) return proceed(next, formError);
      if (request.body === undefined) return next(neitherJsonNorForm());
      request.body = readForm(request.body as string);
      next();
    });
  });
};

/** @returns the error for a body that is neither, or is JSON but not an object. */
export function neitherJsonNorForm(): OAuthError {
  return new OAuthError('invalid_request', 'the body must be a JSON object or a form');
}

function sendsBody({ headers }: Request): boolean {
  const { 'content-length': length, 'transfer-encoding': chunked } = headers;
  return chunked !== undefined || (length !== undefined && length !== '0');
}

function readPlainJson(request: Request, next: NextFunction): void {
  readPlainBody(request, (bytes) => {
    if (bytes === undefined) return next(new OAuthError('invalid_request', UNREADABLE));
    const body = readJson(bytes);
    if (typeof body === 'string') return next(new OAuthError('invalid_request', JSON_FAULTS[body]));
    request.body = body;
    next();
  });
}

/** A hook of the JSON parser; what it throws must not be an OAuthError, whose status cannot be set. */
function refuseFaults(
  _request: IncomingMessage,
  _response: ServerResponse,
  body: Buffer,
  encoding: string,
): void {
  refuseCharset(encoding); // RFC 8259 §8.1
  const fault = faultOf(body.toString(), OBJECT_PARAMETERS);
  if (fault !== undefined) throw Object.assign(new Error(), { type: `json.${fault}` });
}

/** The same of the reader of forms. */
function refuseLongForms(
  _request: IncomingMessage,
  _response: ServerResponse,
  body: Buffer,
  encoding: string,
): void {
  refuseCharset(encoding); // RFC 6749 Appendix B
  let parameters = 1;
  for (let at = body.indexOf('&'); at !== -1; at = body.indexOf('&', at + 1)) {
    if (++parameters > MOST_PARAMETERS) throw Object.assign(new Error(), { type: 'parameters.too.many' });
  }
}

function refuseCharset(encoding: string): void {
  if (encoding !== 'utf-8') throw Object.assign(new Error(), { type: 'charset.unsupported' });
}

function proceed(next: NextFunction, error: unknown): void {
  if (error === undefined) return next();
  const { status, type = '' } = error as { status?: number; type?: string };
  if (type === 'entity.too.large') {
    next(new OAuthError('payload_too_large', 'the body must not be larger than 64 KiB'));
  } else if (status !== undefined && status < 500) {
    next(new OAuthError('invalid_request', DESCRIPTIONS[type] ?? UNREADABLE));
  } else {
    next(error); // a fault of our own
  }
}
