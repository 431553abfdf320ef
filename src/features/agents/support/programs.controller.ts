import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { RequestOrigin, type Origin } from '../../../audit/audit-event.js';
import { HeavyReads } from '../../../platform/database/heavy-reads.js';
import { Requires } from '../../../platform/http/access.js';
import { AgentRequests } from '../authorize/agent-request.store.js';
import { AgentDevices } from '../devices/agent-device.store.js';
import { ProgramEnds } from '../devices/program-ends.js';
import { AgentsFile } from '../file/agents-file.js';
import { ProgramSignOutDto } from './program-sign-out.dto.js';
import type { ProgramList, ProgramSignedOut } from './programs.dto.js';

/** Programs of all users, for the support. */
@Requires('support')
@Controller()
export class ProgramsController {
  constructor(
    private readonly devices: AgentDevices,
    private readonly ends: ProgramEnds,
    private readonly requests: AgentRequests,
    private readonly file: AgentsFile,
    private readonly reads: HeavyReads,
  ) {}

  /**
   * Programs with live sessions
   *
   * @returns The programs, each with one API and the number of its sessions.
   * @throws OAuthError `slow_down`
   */
  @Get('admin/agents')
  async programs(@RequestOrigin() { actor }: Origin): Promise<ProgramList> {
    return { programs: await this.reads.run(actor, () => this.devices.countLive()) };
  }

  /**
   * End a program for all users
   *
   * Ends its sessions, at all APIs or at one, and what waits for consent or for a code. A user may allow it
   * again, as long as `AGENTS_FILE` accepts it. The answer comes when all sessions have ended; if the call
   * fails, repeat it.
   *
   * @returns Ended.
   */
  @Post('agents/sign-out')
  @HttpCode(200)
  async signOutProgram(
    @Body() { client_id: clientId, resource }: ProgramSignOutDto,
    @RequestOrigin() origin: Origin,
  ): Promise<ProgramSignedOut> {
    // Devices have it as AGENTS_FILE wrote it at the consent.
    const resources =
      resource === undefined ? undefined : [resource, this.file.findResource(resource)?.resource ?? resource];
    await this.requests.forget(clientId, resources);
    return { sessions: await this.ends.endAll({ clientId, resources }, origin) };
  }
}
