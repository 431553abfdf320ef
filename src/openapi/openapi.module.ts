import { Module } from '@nestjs/common';
import { OpenApiController } from './openapi.controller.js';

/** The description of the HTTP interface, at `/docs` and `/docs/openapi.json` (contract §4). */
@Module({ controllers: [OpenApiController] })
export class OpenApiModule {}
