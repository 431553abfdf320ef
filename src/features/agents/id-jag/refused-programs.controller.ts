import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { RequestOrigin, type Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import { noSuchDevice } from '../../../device/device.service.js';
import { ChannelHistory } from '../../../channel/channel.history.js';
import type { SessionIds } from '../../../platform/events.js';
import { Caller } from '../../../platform/http/access.js';
import { UuidPipe } from '../../../platform/http/parameters/uuid.js';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import { lockUser } from '../../../user/lock-user.js';
import type { RefusedProgramList } from './id-jag.dto.js';
import { RefusedPrograms } from './refused-programs.store.js';

const deviceIdPipe = new UuidPipe(noSuchDevice);

/** Programs that the provider of a user allows, and that stay away since a person has ended them. */
@Controller('devices')
export class RefusedProgramsController {
  constructor(
    private readonly programs: RefusedPrograms,
    private readonly history: ChannelHistory,
    private readonly audit: AuditStore,
    private readonly limits: RateLimits,
  ) {}

  /**
   * Programs that the caller has ended
   *
   * The provider of the caller allows these programs. They stay away until the caller allows them again.
   *
   * @returns The programs.
   * @throws OAuthError `slow_down`
   */
  @Get('refused')
  async refusedPrograms(@Caller() { userId }: SessionIds): Promise<RefusedProgramList> {
    await this.limits.countUser('read', userId);
    return { programs: await this.programs.find(userId) };
  }

  /**
   * Allow a program again
   *
   * It may act for the caller with the next assertion of the provider.
   *
   * @returns Allowed.
   * @throws OAuthError `not_found`
   */
  @Post(':device_id/allow')
  @HttpCode(204)
  async allowAgain(
    @Caller() { userId }: SessionIds,
    @Param('device_id', deviceIdPipe) deviceId: string,
    @RequestOrigin() origin: Origin,
  ): Promise<void> {
    await this.limits.countUser('write', userId);
    await this.history.transactionOf(userId, async ({ manager }) => {
      const provider = await lockUser(manager, userId);
      if (!(await this.programs.allowAgain(manager, { userId, deviceId }))) throw noSuchDevice();
      await this.audit.write(manager, [
        { event: 'agent_allowed', userId, deviceId, provider, reason: 'again', origin },
      ]);
    });
  }
}
