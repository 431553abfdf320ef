import { Controller, HttpCode, Ip, Post, Req, type Type } from '@nestjs/common';
import type { Request } from 'express';
import { RequestOrigin, type Origin } from '../../../audit/audit-event.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { Public } from '../../../platform/http/access.js';
import { BodyReader, UnreadBody } from '../../../platform/http/parameters/body.js';
import { isObject } from '../../../platform/http/parameters/json.js';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import { Revocation } from '../effect/revocation.service.js';
import { ProviderTokens } from '../verify/provider-tokens.js';
import { countBadToken } from '../../../provider/keys/remote-keys.js';

const reader = new BodyReader({ kibibytes: 20, values: 250, mayBeCompressed: false }, ['application/json']);

/** Returns a controller for one provider: the path exists for providers with `signals=on` only. */
export function revocationOf(provider: string): Type {
  @Public()
  @Controller(`providers/${provider}`)
  class RevocationController {
    constructor(
      private readonly tokens: ProviderTokens,
      private readonly revocation: Revocation,
      private readonly limits: RateLimits,
    ) {}

    /** Ends all sessions of a user. The provider's token is verified before the body is read. */
    @Post('global-token-revocation')
    @HttpCode(204)
    async revoke(
      @Req() request: Request,
      @RequestOrigin() origin: Origin,
      @Ip() address?: string,
    ): Promise<void> {
      const apply = async (): Promise<void> => {
        const token = await this.tokens.verifyRevocation(provider, request.headers.authorization);
        await this.revocation.apply(provider, token, await bodyOf(request), origin);
      };
      await apply().catch(countBadToken(this.limits, 'invalid_token', address));
    }
  }
  return RevocationController;
}

async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const body: unknown = request.body;
  const read = body instanceof UnreadBody ? await body.read(reader) : undefined;
  if (!isObject(read)) throw new OAuthError('invalid_request', 'the body must be a JSON object');
  return read;
}
