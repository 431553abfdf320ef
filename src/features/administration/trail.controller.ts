import { Controller, Get, Query } from '@nestjs/common';
import { type Origin, RequestOrigin } from '../../audit/audit-event.js';
import { AuditDto, KnownEvent } from '../../audit/search/audit.dto.js';
import { HeavyReads } from '../../platform/database/heavy-reads.js';
import { Requires } from '../../platform/http/access.js';
import { NamedTrail } from './named-trail.js';
import type { NamedEvents } from './trail.dto.js';

/** The audit trail of the administration page. */
@Requires('support')
@Controller('admin/trail')
export class TrailController {
  constructor(
    private readonly trail: NamedTrail,
    private readonly reads: HeavyReads,
  ) {}

  /**
   * Search the audit trail, with names
   *
   * As `GET /audit`, for people: each event also has the names of its users and of its device, and the
   * browser and operating system.
   *
   * @returns A page of events.
   * @throws OAuthError `slow_down`
   */
  @Get()
  findTrail(@Query(KnownEvent) query: AuditDto, @RequestOrigin() { actor }: Origin): Promise<NamedEvents> {
    return this.reads.run(actor, () => this.trail.find(query));
  }
}
