import { Module } from '@nestjs/common';
import { DemoController } from './demo.controller.js';

/** The demo page at `/`, with its callback at `/callback` (contract §2 `DEMO_ENABLED`). */
@Module({ controllers: [DemoController] })
export class DemoModule {}
