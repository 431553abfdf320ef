import { Body, Controller, HttpCode, Ip, Post, type Type } from '@nestjs/common';
import { Public } from '../../token/guard/access.js';
import { BackchannelLogoutDto } from './backchannel-logout.dto.js';
import { BackchannelLogout } from './backchannel-logout.service.js';

/** Endpoint of one provider: under any other name the path does not exist (contract §6). */
export function backchannelLogoutOf(provider: string): Type {
  @Controller(`providers/${provider}`)
  class BackchannelLogoutController {
    constructor(private readonly logouts: BackchannelLogout) {}

    /** End sessions that have ended at the provider: it proves itself by the signature. 200 also where nobody is known. */
    @Public()
    @Post('backchannel-logout')
    @HttpCode(200)
    async logOut(
      @Body() { logout_token: token }: BackchannelLogoutDto,
      @Ip() address?: string,
    ): Promise<Record<string, never>> {
      await this.logouts.obey(provider, token, address);
      return {};
    }
  }
  return BackchannelLogoutController;
}
