import { Module } from '@nestjs/common';
import { AdminPageController } from './admin-page.controller.js';

/** The administration page (contract §9, §2 `ADMIN_ENABLED`). */
@Module({ controllers: [AdminPageController] })
export class AdminModule {}
