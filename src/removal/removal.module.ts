import { Module } from '@nestjs/common';
import { Removal } from './removal.js';

@Module({ providers: [Removal] })
export class RemovalModule {}
