import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { MEDIA_TYPE } from './schemas.js';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { ConcurrencyLimit } from '../../../platform/database/limits.js';
import { ScimError } from './scim-error.js';

/** Requests of one provider at a time, on one instance, and those that wait. */
const AT_A_TIME = 4;
const MOST_WAITING = 100;

/** Share of its time that the event loop works, from which on users would wait for a directory. */
const BUSY = 0.5;
const LOOKED_AT_MS = 200;
/** Between the starts of two requests while the instance is busy: 27 a second. */
const PACE_MS = 36;
/** Bytes, received and sent, that a request has for this time; larger ones count as several. */
const PACE_BYTES = 65_536;

/**
 * What a directory may take of an instance: the first synchronisation must leave room for users. While the
 * instance has time, requests are not held up.
 */
export class Share {
  private readonly limit = new ConcurrencyLimit(AT_A_TIME);
  private nextAt = 0;
  private isBusy = false;
  private looked = { at: 0, use: performance.eventLoopUtilization() };

  /**
   * @param bytes returns what the request has received and sent, once it is done
   * @throws ScimError 429 if too many wait
   */
  async run<Result>(work: () => Promise<Result>, bytes: () => number): Promise<Result> {
    if (this.limit.waiting >= MOST_WAITING) {
      throw new ScimError(429, 'too many requests at a time', undefined, { 'Retry-After': '1' });
    }
    return this.limit.run(async () => {
      await this.keepPace();
      try {
        return await work();
      } finally {
        if (this.isBusy) this.nextAt += PACE_MS * Math.floor(bytes() / PACE_BYTES);
      }
    });
  }

  private async keepPace(): Promise<void> {
    const now = performance.now();
    if (now - this.looked.at > LOOKED_AT_MS) {
      const use = performance.eventLoopUtilization();
      this.isBusy = performance.eventLoopUtilization(use, this.looked.use).utilization > BUSY;
      this.looked = { at: now, use };
    }
    if (!this.isBusy) return;
    const wait = this.nextAt - now;
    this.nextAt = Math.max(now, this.nextAt) + PACE_MS;
    if (wait > 0) await delay(wait);
  }
}

/** How often the bytes of a compressed body count. */
const COMPRESSED = 20;

const shares = new Map<string, Share>();

/** Lets a directory have its share, and sends what a handler returns as `application/scim+json`. */
@Injectable()
export class ScimAnswer implements NestInterceptor {
  intercept(
    context: ExecutionContext,
    next: CallHandler<object | undefined>,
  ): Observable<string | undefined> {
    const http = context.switchToHttp();
    const { socket, headers, directory } = http.getRequest<Request>();
    const { provider } = directory!;
    const share = shares.get(provider) ?? new Share();
    shares.set(provider, share); // as many as there are providers
    const response = http.getResponse<Response>();
    const [before, times] = [socket.bytesRead, headers['content-encoding'] === undefined ? 1 : COMPRESSED];
    let sent: string | undefined;
    const answer = async (): Promise<string | undefined> =>
      (sent = written(await lastValueFrom(next.handle(), { defaultValue: undefined }), response));
    return from(share.run(answer, () => (socket.bytesRead - before) * times + (sent?.length ?? 0)));
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
