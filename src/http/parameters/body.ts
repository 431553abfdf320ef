import { parse } from 'node:querystring';
import { NotFoundException } from '@nestjs/common';
import { raw, type NextFunction, type Request, type RequestHandler } from 'express';
import { routeOf } from '../errors/allowed-methods.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { currentTracer } from '../../spans.js';

/** Bytes of a body after decompression (docs/security.md#requests). */
const LARGEST_BODY = 64 * 1024;
/** Levels of a member's value. Encoders recurse: a deeper value could be stored, but not sent. */
const DEEPEST_VALUE = 100;
const MOST_PARAMETERS = 100;
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

const UNREADABLE = 'the body could not be read';

/** Parameters of a form: a text each, or the texts of a repeated one. */
export class Form {
  readonly [name: string]: unknown;
}

const readBytes = raw({ limit: LARGEST_BODY, type: [JSON_TYPE, FORM_TYPE] });

/** Reads a JSON object or a form into `request.body`. The path and the method are checked first. */
export const readBody: RequestHandler = (request, response, next) => {
  if (!sendsBody(request)) return next();
  if (!routeOf(request)) return next(new NotFoundException());
  if (isPlain(request)) return readPlain(request, next);
  readBytes(request, response, (error?: unknown) => {
    if (error !== undefined) return next(readError(error));
    parseInto(request, request.body as Buffer | undefined, next);
  });
};

/** Returns the error for a body of another kind, or for JSON that is no object. */
export function neitherJsonNorForm(): OAuthError {
  return new OAuthError('invalid_request', 'the body must be a JSON object or a form');
}

function sendsBody({ headers }: Request): boolean {
  const { 'content-length': length, 'transfer-encoding': chunked } = headers;
  return chunked !== undefined || (length !== undefined && length !== '0');
}

/** Whether a body has a known length and is not compressed. body-parser takes three times as long (docs/benchmark.md). */
function isPlain({ headers }: Request): boolean {
  const type = headers['content-type'];
  return (
    (type === JSON_TYPE || type === FORM_TYPE) &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    Number(headers['content-length']) <= LARGEST_BODY
  );
}

/** Node.js enforces `Content-Length`: the body is never longer, and a shorter one ends with `aborted`. */
function readPlain(request: Request, next: NextFunction): void {
  const chunks: Buffer[] = [];
  let isDone = false;
  const settle = (bytes: Buffer | undefined): void => {
    if (isDone) return; // `aborted` is followed by `error`
    isDone = true;
    if (bytes) parseInto(request, bytes, next);
    else next(new OAuthError('invalid_request', UNREADABLE));
  };
  const bound = currentTracer()?.bind(settle) ?? settle; // events of a request have no trace context
  const fail = (): void => bound(undefined);
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => bound(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
  request.on('aborted', fail).on('error', fail);
}

function parseInto(request: Request, bytes: Buffer | undefined, next: NextFunction): void {
  try {
    if (bytes === undefined) throw neitherJsonNorForm(); // another media type
    const contentType = request.headers['content-type']!;
    requireUtf8(contentType);
    request.body = /^[^;]*json/i.test(contentType)
      ? parseJson(bytes.toString())
      : parseForm(bytes.toString());
  } catch (error) {
    return next(error);
  }
  next();
}

/** RFC 8259 §8.1, RFC 6749 Appendix B. */
function requireUtf8(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(contentType)?.[1];
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
    throw new OAuthError('invalid_request', 'the body must be UTF-8');
  }
}

/** Parses a JSON object or array; an empty body is `{}`. Of equal members the last counts (RFC 8259 §4). */
function parseJson(text: string): object {
  const json = text.startsWith('\ufeff') ? text.slice(1) : text;
  let value: unknown;
  try {
    value = json === '' ? {} : JSON.parse(json);
  } catch {} // its message quotes the body
  if (typeof value !== 'object' || value === null) {
    throw new OAuthError('invalid_request', 'the body is not valid JSON');
  }
  if (isDeeper(value, DEEPEST_VALUE + 1)) {
    throw new OAuthError('invalid_request', `JSON must not be nested deeper than ${DEEPEST_VALUE}`);
  }
  return value;
}

/** @param most number of levels, which bounds the recursion */
function isDeeper(value: object, most: number): boolean {
  if (most === 0) return true;
  for (const member of Object.values(value) as unknown[]) {
    if (typeof member === 'object' && member !== null && isDeeper(member, most - 1)) return true;
  }
  return false;
}

/** Parses a form as queries are parsed: a name ends at the first `=`. With `qs`, a repeated parameter could have two names. */
function parseForm(text: string): Form {
  let parameters = 1;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    if (++parameters > MOST_PARAMETERS) {
      throw new OAuthError('invalid_request', `a form must not have more than ${MOST_PARAMETERS} parameters`);
    }
  }
  // Not copied: `__proto__` must stay a member like any other.
  return Object.setPrototypeOf(parse(text, '&', '=', { maxKeys: 0 }), Form.prototype) as Form;
}

/** Maps an error of body-parser without its message, which quotes the body. */
function readError(error: unknown): unknown {
  const { status, type } = error as { status?: number; type?: string };
  if (type === 'entity.too.large') {
    return new OAuthError('payload_too_large', 'the body must not be larger than 64 KiB');
  }
  if (status === undefined || status >= 500) return error;
  const reason = type === 'encoding.unsupported' ? 'this Content-Encoding is not supported' : UNREADABLE;
  return new OAuthError('invalid_request', reason);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
