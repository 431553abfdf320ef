import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { answer } from '../../http/answer.js';
import { OrAsPassword, ServiceKeyOnly } from '../guard/access.js';
import { Introspection } from './introspection.js';
import { TokenInspector } from './token-inspector.js';
import { TokenAndHintDto } from './token-and-hint.dto.js';

@Controller('oauth2')
export class IntrospectController {
  constructor(private readonly tokens: TokenInspector) {}

  /**
   * Whether a token is active, and its claims
   *
   * RFC 7662. A refresh token is inactive unless `token_type_hint` is `refresh_token`: it must never give access.
   *
   * @returns The claims, or that the token is not active.
   */
  @ServiceKeyOnly('read')
  @OrAsPassword()
  @Post('introspect')
  @HttpCode(200)
  async introspect(@Body() { token, token_type_hint: hint }: TokenAndHintDto): Promise<Introspection> {
    const inspected = await this.tokens.inspect(token);
    if (!inspected) return { active: false };
    if (inspected.kind === 'refresh_token' && hint !== 'refresh_token') return { active: false };
    const { session, kind, ...claims } = inspected;
    const { userId: sub, sessionId: sid, deviceId } = session;
    const device = deviceId === null ? {} : { device_id: deviceId };
    return answer(Introspection, { active: true, sub, sid, ...device, ...claims, token_type: kind });
  }
}
