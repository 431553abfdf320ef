import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { type Origin, RequestOrigin } from '../../../audit/audit-event.js';
import { Requires } from '../../../platform/http/access.js';
import { ProgramSignOutDto, type ProgramSignedOut } from './program-ends.dto.js';
import { ProgramEnds } from './program-ends.js';

@Controller('agents')
export class ProgramEndsController {
  constructor(private readonly ends: ProgramEnds) {}

  /**
   * End a program at all users
   *
   * For a program that was found out. Its sessions of all users end, 1,000 at a time. To keep it out, take it
   * out of AGENTS_FILE, too.
   *
   * @returns Signed out.
   */
  @Post('sign-out')
  @HttpCode(200)
  @Requires('support')
  signOutProgram(
    @Body() { client_id: clientId, resource }: ProgramSignOutDto,
    @RequestOrigin() origin: Origin,
  ): Promise<ProgramSignedOut> {
    return this.ends.end({ clientId, resource }, origin);
  }
}
