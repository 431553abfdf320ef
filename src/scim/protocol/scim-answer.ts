import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { ConcurrencyLimit } from '../../database/limits.js';
import { MEDIA_TYPE } from './schemas.js';
import { ScimError } from './scim-error.js';

/**
 * Requests of one provider at a time, on one instance: the first synchronisation must leave room for users.
 */
const AT_A_TIME = 4;
const MOST_WAITING = 100;

const limits = new Map<string, ConcurrencyLimit>();

/** Lets a directory have its share, and sends what a handler returns as `application/scim+json`. */
@Injectable()
export class ScimAnswer implements NestInterceptor {
  intercept(
    context: ExecutionContext,
    next: CallHandler<object | undefined>,
  ): Observable<string | undefined> {
    const http = context.switchToHttp();
    const { provider } = http.getRequest<Request>().directory!;
    const limit = limits.get(provider) ?? new ConcurrencyLimit(AT_A_TIME);
    limits.set(provider, limit); // as many as there are providers
    if (limit.waiting >= MOST_WAITING) {
      throw new ScimError(429, 'too many requests at a time', undefined, { 'Retry-After': '1' });
    }
    const response = http.getResponse<Response>();
    const answer = async (): Promise<string | undefined> =>
      written(await lastValueFrom(next.handle(), { defaultValue: undefined }), response);
    return from(limit.run(answer));
  }
}

function written(body: object | undefined, response: Response): string | undefined {
  response.set('Cache-Control', 'no-store');
  if (body === undefined) return undefined;
  const { location } = (body as { readonly meta?: { readonly location?: string } }).meta ?? {};
  if (location !== undefined && response.statusCode === 201) response.location(location);
  response.type(MEDIA_TYPE);
  return JSON.stringify(body);
}
