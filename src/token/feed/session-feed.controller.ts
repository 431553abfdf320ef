import { Controller, Get, Headers, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { answerWithStream } from '../../platform/http/event-stream.js';
import { ServiceKeyOnly } from '../../platform/http/access.js';
import { SessionFeedStreams } from './session-feed.streams.js';

@Controller('sessions')
export class SessionFeedController {
  constructor(private readonly streams: SessionFeedStreams) {}

  /**
   * A stream of ended sessions, revoked keys and changed claims
   *
   * Server-sent events without end: `ended` for each session that was signed out, `key_revoked` for a revoked
   * key, `claims_changed` for a user whose claims have changed, `claims_voided` if such a user was removed,
   * `ready` after past events, and a comment at least every second. Their members, and how to resume:
   * docs/ended-sessions.md. The service key of an API with tokens of its own gets `ended` and `key_revoked`.
   *
   * @returns Events, one after the other.
   * @throws OAuthError `slow_down`
   */
  @ServiceKeyOnly('read', { ofAudience: true })
  @Get('ended')
  endedSessions(
    @Req() request: Request,
    @Res() response: Response,
    @Headers('last-event-id') lastEventId: string | undefined,
  ): Promise<void> {
    return answerWithStream(request, response, (stream) =>
      this.streams.open(stream, lastEventId, request.audience === undefined),
    );
  }
}
