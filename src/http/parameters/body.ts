import { parse } from 'node:querystring';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { NotFoundException } from '@nestjs/common';
import { raw, type Request, type RequestHandler } from 'express';
import { routeOf } from '../server/route-table.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { checkJson } from './json-structure.js';

/** Bytes of a body, also after decompression (docs/errors.md#payload_too_large). */
const LARGEST_BODY = 64 * 1024;
/** Bytes of a body that needs no credential. */
const LARGEST_PUBLIC_BODY = 20 * 1024;
const PUBLIC_PATHS = /^\/(?:oauth2|providers)\//;
/** Routes for servers, which may compress. */
const COMPRESSED_ROUTES: readonly unknown[] = ['/push'];
const DECOMPRESSIONS = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};
const MOST_PARAMETERS = 100;
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

const UNREADABLE = 'the body could not be read';

/** Parameters of a form: a text each, or the texts of a repeated one. */
export class Form {
  readonly [name: string]: unknown;
}

const options = { type: [JSON_TYPE, FORM_TYPE], inflate: false };
const readBytes = raw({ ...options, limit: LARGEST_BODY });
const readPublicBytes = raw({ ...options, limit: LARGEST_PUBLIC_BODY });

/**
 * Reads the bytes of a body into `request.body`, a RequestBody. Guards run before the body is unpacked and parsed, so an unreadable
 * body counts towards the limits as well. The path and the method are checked first.
 */
export const readBody: RequestHandler = (request, response, next) => {
  const { headers } = request;
  const { 'content-length': length, 'transfer-encoding': chunked } = headers;
  if (chunked === undefined && (length === undefined || length === '0')) return next();
  const route = routeOf(request);
  if (!route) return next(new NotFoundException());
  const coding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  // body-parser would unpack at once.
  if (COMPRESSED_ROUTES.includes(route) && Object.hasOwn(DECOMPRESSIONS, coding))
    delete headers['content-encoding'];
  const read = PUBLIC_PATHS.test(route) ? readPublicBytes : readBytes;
  read(request, response, (error?: unknown) => {
    const bytes = Buffer.isBuffer(request.body) ? request.body : undefined;
    request.body = new RequestBody(request, bytes, coding, error);
    next();
  });
};

/** Body of a request, parsed at its first use. */
export class RequestBody {
  private parsed: { readonly value: unknown } | { readonly error: unknown } | undefined;
  private readonly type: string;

  /** @param error of body-parser */
  constructor(
    request: Request,
    private readonly bytes: Buffer | undefined,
    private readonly coding: string,
    private readonly error: unknown,
  ) {
    this.type = request.headers['content-type'] ?? '';
  }

  /** Returns the JSON object, list or Form; a promise if the body is compressed. @throws OAuthError */
  parse(): unknown {
    if (this.coding !== 'identity' && this.error === undefined && this.bytes) return this.unpack();
    this.parsed ??= attempt(() => this.parseBytes(this.bytes));
    if ('error' in this.parsed) throw this.parsed.error;
    return this.parsed.value;
  }

  private async unpack(): Promise<unknown> {
    const decompress = DECOMPRESSIONS[this.coding as keyof typeof DECOMPRESSIONS];
    const bytes = await decompress(this.bytes!, { maxOutputLength: LARGEST_BODY }).catch((error: unknown) => {
      throw (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : unreadable();
    });
    return this.parseBytes(bytes);
  }

  private parseBytes(bytes: Buffer | undefined): unknown {
    if (this.error !== undefined) throw toOAuthError(this.error);
    if (bytes === undefined) throw neitherJsonNorForm(); // another media type
    requireUtf8(this.type);
    const text = bytes.toString();
    return /^[^;]*json/i.test(this.type) ? parseJson(text) : parseForm(text);
  }
}

/** Returns the error for a body of another kind, or for JSON that is no object. */
export function neitherJsonNorForm(): OAuthError {
  return new OAuthError('invalid_request', 'the body must be a JSON object or a form');
}

function attempt(parse: () => unknown): { readonly value: unknown } | { readonly error: unknown } {
  try {
    return { value: parse() };
  } catch (error) {
    return { error };
  }
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
  checkJson(json);
  let value: unknown;
  try {
    value = json === '' ? {} : JSON.parse(json);
  } catch {} // its message quotes the body
  if (typeof value !== 'object' || value === null) {
    throw new OAuthError('invalid_request', 'the body is not valid JSON');
  }
  return value;
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
function toOAuthError(error: unknown): unknown {
  const { status, type } = error as { status?: number; type?: string };
  if (type === 'entity.too.large') return tooLarge();
  if (type === 'encoding.unsupported') {
    return new OAuthError('unsupported_media_type', 'the body must have no Content-Encoding');
  }
  return status === undefined || status >= 500 ? error : unreadable();
}

function tooLarge(): OAuthError {
  const [most, ofPublic] = [LARGEST_BODY / 1024, LARGEST_PUBLIC_BODY / 1024];
  const message = `the body must not be larger than ${most} KiB, or ${ofPublic} KiB without a credential`;
  return new OAuthError('payload_too_large', message);
}

function unreadable(): OAuthError {
  return new OAuthError('invalid_request', UNREADABLE);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
