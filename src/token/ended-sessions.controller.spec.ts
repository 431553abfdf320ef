import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { EventStream } from '../http/event-stream.js';
import { EndedSessionsController } from './ended-sessions.controller.js';
import type { EndedSessionStreams } from './ended-sessions.streams.js';

describe('GET /sessions/ended', () => {
  // RFC 9110 §9.3.2: HEAD has the head of what GET answers, and no more.
  it.each([
    ['GET', [['5-5']], false],
    ['HEAD', [], true],
  ])('%s', async (method, opened, isOver) => {
    const asked: unknown[][] = [];
    const streams: Pick<EndedSessionStreams, 'open'> = {
      open: (stream, lastEventId) => {
        expect(stream).toBeInstanceOf(EventStream);
        asked.push([lastEventId]);
        return Promise.resolve();
      },
    };
    const request = new IncomingMessage(new Socket());
    request.method = method;
    const response = new ServerResponse(request);
    const controller = new EndedSessionsController(streams as EndedSessionStreams);
    await controller.ended(request as Request, response as Response, '5-5');
    expect([asked, response.writableEnded]).toEqual([opened, isOver]);
    if (isOver) expect(response.getHeader('content-type')).toBe('text/event-stream');
  });
});
