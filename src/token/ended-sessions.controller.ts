import { Controller, Get, Headers, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { EventStream } from '../http/event-stream.js';
import { ServiceKeyOnly } from './access.js';
import { EndedSessionStreams } from './ended-sessions.streams.js';

@Controller('sessions')
export class EndedSessionsController {
  constructor(private readonly streams: EndedSessionStreams) {}

  /** Sessions that were signed out and keys that were withdrawn, as server-sent events, without end (contract §8). */
  @ServiceKeyOnly('read')
  @Get('ended')
  async ended(
    @Req() { method }: Request,
    @Res() response: Response,
    @Headers('last-event-id') lastEventId: string | undefined,
  ): Promise<void> {
    const stream = new EventStream(response);
    if (method !== 'HEAD') return this.streams.open(stream, lastEventId);
    stream.begin();
    response.end(); // the head alone (RFC 9110 §9.3.2)
  }
}
