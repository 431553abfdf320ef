import { Controller, Get, Query } from '@nestjs/common';
import { Requires } from '../../token/guard/access.js';
import { AuditDto, type AuditEvents } from './audit.dto.js';
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
  findAudit(@Query() query: AuditDto): Promise<AuditEvents> {
    return this.search.find(query);
  }
}
