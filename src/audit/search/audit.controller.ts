import { Controller, Get, Query } from '@nestjs/common';
import { Requires } from '../../token/guard/access.js';
import { AuditDto, AuditEvents } from './audit.dto.js';
import { AuditSearch } from './audit-search.js';

@Requires('read', 'support')
@Controller('audit')
export class AuditController {
  constructor(private readonly search: AuditSearch) {}

  /**
   * Search the audit trail
   *
   * Newest first. A page reads a bounded number of events, so it may have fewer than `limit`, even none: only `next_cursor` says whether
   * there are more.
   *
   * @returns A page of events.
   */
  @Get()
  async findAudit(@Query() query: AuditDto): Promise<AuditEvents> {
    const { user_id, event, provider, result, since, until, limit, cursor } = query;
    const filter = { userId: user_id, event, provider, result, since: timeOf(since), until: timeOf(until) };
    const { events, next } = await this.search.find(filter, Number(limit ?? 50), cursor);
    return { events, next_cursor: next };
  }
}

function timeOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}
