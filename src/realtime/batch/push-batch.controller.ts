import { Body, Controller, Headers, HttpCode, Post } from '@nestjs/common';
import { ServiceKeyOnly } from '../../platform/http/access.js';
import { idempotencyKeyOf } from '../push/idempotency-key.js';
import { PushBatchDto, type PushedBatch } from './push-batch.dto.js';
import { PushBatchService } from './push-batch.service.js';

@Controller('push/batch')
export class PushBatchController {
  constructor(private readonly batches: PushBatchService) {}

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
  @Post()
  @HttpCode(200)
  async pushBatch(
    @Body() { events }: PushBatchDto,
    @Headers('authorization') serviceKey: string,
    @Headers('idempotency-key') key?: string,
  ): Promise<PushedBatch> {
    return { results: [...(await this.batches.push(events, idempotencyKeyOf(serviceKey, key)))] };
  }
}
