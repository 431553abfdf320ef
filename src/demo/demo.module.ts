import { Module } from '@nestjs/common';
import { RealtimeModule } from '../realtime/realtime.module.js';
import { DemoController, DemoPushController } from './demo.controller.js';

/** The demo page at `/`, with its callback at `/callback` (contract §2 `DEMO_ENABLED`). */
@Module({ imports: [RealtimeModule], controllers: [DemoController, DemoPushController] })
export class DemoModule {}
