import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { MEDIA_TYPE } from './schemas.js';
import { Share } from './share.js';

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
