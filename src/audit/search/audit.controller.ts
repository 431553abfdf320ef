import { Controller, Get, Headers, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Clock } from '../../platform/database/clock.js';
import { HeavyReads } from '../../platform/database/heavy-reads.js';
import { answerWithStream } from '../../platform/http/event-stream.js';
import { parseCursor } from '../../platform/http/parameters/cursor.js';
import { Requires, ServiceKeyOnly } from '../../platform/http/access.js';
import { type Origin, RequestOrigin } from '../audit-event.js';
import { AuditStreams } from '../audit-streams.js';
import { AuditCountsDto, AuditDto, KnownEvent, type AuditCounts, type AuditEvents } from './audit.dto.js';
import { AuditSearch } from './audit-search.js';

@Requires('read', 'support')
@Controller('audit')
export class AuditController {
  constructor(
    private readonly search: AuditSearch,
    private readonly streams: AuditStreams,
    private readonly clock: Clock,
    private readonly reads: HeavyReads,
  ) {}

  /**
   * Search the audit trail
   *
   * Newest first. A page reads a bounded number of events, so it may have fewer than `limit`, even none: only
   * `next_cursor` says whether there are more.
   *
   * @returns A page of events.
   * @throws OAuthError `slow_down`
   */
  @Get()
  findAudit(@Query(KnownEvent) query: AuditDto, @RequestOrigin() { actor }: Origin): Promise<AuditEvents> {
    return this.reads.run(actor, () => this.search.find(query));
  }

  /**
   * Count events of the audit trail
   *
   * A call reads a bounded number of the newest events: `since` of the answer says how far back it came.
   *
   * @returns Attempts and distinct people of each key.
   * @throws OAuthError `slow_down`
   */
  @Requires('support')
  @Get('counts')
  countAudit(
    @Query(KnownEvent) query: AuditCountsDto,
    @RequestOrigin() { actor }: Origin,
  ): Promise<AuditCounts> {
    return this.reads.run(actor, () => this.search.count(query, this.clock.now()));
  }

  /**
   * A stream of audit events
   *
   * Server-sent events without end: a `message` for each audit event, as `GET /audit` has it, and a comment
   * at least every second. How to resume: docs/audit.md.
   *
   * @returns Events, one after the other.
   * @throws OAuthError `slow_down`
   */
  @ServiceKeyOnly('read')
  @Get('stream')
  auditStream(
    @Req() request: Request,
    @Res() response: Response,
    @Headers('last-event-id') lastEventId: string | undefined,
  ): Promise<void> {
    const after = parseCursor(lastEventId) && lastEventId;
    return answerWithStream(request, response, (stream) => this.streams.open(stream, after));
  }
}
