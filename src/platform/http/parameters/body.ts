import { raw, type Request, type RequestHandler, type Response } from 'express';
import { OAuthError } from '../../errors/oauth-error.js';
import type { RateLimits } from '../rate-limit.js';
import { sendsBody } from '../server/ending.js';
import { neitherJsonNorForm, parseBody } from './parse-body.js';

/** What a route accepts as a body (docs/security.md#requests). */
export interface BodyLimits {
  readonly kibibytes: number;
  /** Values of JSON. */
  readonly values: number;
  /** Levels of JSON; default: those of an object with members of any depth that a push may have. */
  readonly levels?: number;
  /** Whether `Content-Encoding` may be another than `identity`. */
  readonly mayBeCompressed: boolean;
}

const TYPES = ['application/json', 'application/x-www-form-urlencoded'];

/** Reads bodies of routes with the same limits. */
export class BodyReader {
  private readonly readBytes: RequestHandler;

  /** @param types media types that are read */
  constructor(
    private readonly limits: BodyLimits,
    types = TYPES,
  ) {
    const { kibibytes, mayBeCompressed: inflate } = limits;
    this.readBytes = raw({ limit: kibibytes * 1024, inflate, type: types });
  }

  /** @throws OAuthError if the body cannot be read; an error of another kind is the service's fault */
  async read(request: Request, response: Response): Promise<object> {
    const { 'content-length': length, 'content-encoding': coding = 'identity' } = request.headers;
    // body-parser reads all of it first
    if (coding === 'identity' && Number(length) > this.limits.kibibytes * 1024) throw this.tooLarge();
    const body = await new Promise<unknown>((resolve, reject) => {
      this.readBytes(request, response, (error?: unknown) =>
        error === undefined ? resolve(request.body) : reject(this.toError(error)),
      );
    });
    return this.parse(Buffer.isBuffer(body) ? body : undefined, request.headers['content-type']!);
  }

  /** @param body undefined: it has another media type */
  protected parse(body: Buffer | undefined, type: string): object {
    if (!body) throw neitherJsonNorForm();
    const { values, levels } = this.limits;
    return parseBody(body, type, values, levels);
  }

  /** Maps an error of body-parser without its message, which quotes the body. */
  private toError(error: unknown): Error {
    const { status, type } = error as { status?: number; type?: string };
    if (type === 'entity.too.large') return this.tooLarge();
    if (type === 'encoding.unsupported') {
      return new OAuthError('unsupported_media_type', 'this Content-Encoding is not accepted here');
    }
    if (status === undefined || status >= 500) return error as Error;
    return new OAuthError('invalid_request', 'the body could not be read');
  }

  private tooLarge(): OAuthError {
    const { kibibytes } = this.limits;
    const most = kibibytes < 1024 ? `${kibibytes} KiB` : `${kibibytes / 1024} MiB`;
    return new OAuthError('payload_too_large', `the body must not be larger than ${most}`);
  }
}

/** Body that is read for a handler's parameter: a request that a guard refuses costs no reading. */
export class UnreadBody {
  private value: Promise<object> | undefined;

  constructor(
    private readonly request: Request,
    private readonly response: Response,
    private readonly limits: RateLimits,
  ) {}

  /**
   * Reads a JSON object, a JSON array or a form, once. Each failure counts for the address.
   * @throws OAuthError `invalid_request`, `payload_too_large`, `unsupported_media_type` or `slow_down`
   */
  read(reader: BodyReader): Promise<object> {
    return (this.value ??= this.readWith(reader));
  }

  private async readWith(reader: BodyReader): Promise<object> {
    try {
      return await reader.read(this.request, this.response);
    } catch (error) {
      if (error instanceof OAuthError) await this.limits.count('bad_token', this.request.ip);
      throw error;
    } finally {
      this.request.body = this; // body-parser has put the bytes there
    }
  }
}

/** Puts an `UnreadBody` into `request.body`. */
export function deferBodies(limits: RateLimits): RequestHandler {
  return (request, response, next) => {
    if (!sendsBody(request)) return next();
    request.body = new UnreadBody(request, response, limits);
    // After the rest of the packet: if it has the whole body, an early answer keeps the connection.
    setImmediate(next);
  };
}
