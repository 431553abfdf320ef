import { Body, Controller, Headers, HttpCode, Post } from '@nestjs/common';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { answer } from '../../platform/http/answer.js';
import { ServiceKeyOnly } from '../../platform/http/access.js';
import { PushBatchDto, type BatchedResult, type PushedBatch } from './push-batch.dto.js';
import { PushDto, Pushed } from './push.dto.js';
import { PushService, type PushResult } from './push.service.js';

const LONGEST_KEY = 255;

@Controller('push')
export class PushController {
  constructor(private readonly pushes: PushService) {}

  /**
   * Send an event to a user, or to one of their devices
   *
   * The event waits `ttl` seconds for clients that are not connected. Reserved names: all that begin with
   * `device.`, `session.`, `token.`, `claims.`, `agent.` or `identities.`, and `ready`, `authenticate`,
   * `connect`, `connect_error`, `disconnect`, `disconnecting`, `newListener`, `removeListener`, `error`.
   *
   * @returns Stored.
   * @throws OAuthError `not_found`
   */
  @ServiceKeyOnly('push')
  @Post()
  @HttpCode(202)
  async push(
    @Body() body: PushDto,
    @Headers('authorization') serviceKey: string,
    @Headers('idempotency-key') key?: string,
  ): Promise<Pushed> {
    const { user_id: userId, event, data, device_id: deviceId, ttl } = body;
    const pushed = await this.pushes.push(userId.toLowerCase(), event, data, {
      deviceId: deviceId?.toLowerCase(),
      ttl,
      idempotencyKey: toIdempotencyKey(serviceKey, key),
    });
    return answer(Pushed, pushed);
  }

  /**
   * Send up to 100 events to up to 1,000 users
   *
   * Each event is what `POST /push` takes; with `user_ids` in place of `user_id` it goes to many users.
   * Events of one user keep their order. An event that is malformed, or whose user or device is unknown, has
   * a result with `error`, and the others are sent.
   *
   * @returns A result for each event and user, in the order given.
   */
  @ServiceKeyOnly('push')
  @Post('batch')
  @HttpCode(200)
  async pushBatch(
    @Body() { events }: PushBatchDto,
    @Headers('authorization') serviceKey: string,
    @Headers('idempotency-key') key?: string,
  ): Promise<PushedBatch> {
    return { results: await this.pushes.pushBatch(events, toResult, toIdempotencyKey(serviceKey, key)) };
  }
}

/**
 * Returns the key under which an answer is stored: a client's keys belong to its service key.
 * @param authorization header with the service key
 * @param key header `Idempotency-Key`, if any
 * @throws OAuthError `invalid_request`
 */
function toIdempotencyKey(authorization: string, key: string | undefined): string | undefined {
  if (key === undefined) return undefined;
  if (key === '' || key.length > LONGEST_KEY) {
    throw new OAuthError('invalid_request', `Idempotency-Key must have 1 to ${LONGEST_KEY} characters`);
  }
  const [, serviceKey] = authorization.split(/ +/);
  return `${serviceKey} ${key}`;
}

function toResult(result: PushResult): BatchedResult {
  if (!(result instanceof OAuthError)) return result;
  return { error: result.error, error_description: result.description };
}
