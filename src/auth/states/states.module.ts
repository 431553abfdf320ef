import { Module } from '@nestjs/common';
import { StateService } from './state.service.js';

/** States of sign-ins, and of test sign-ins. */
@Module({ providers: [StateService], exports: [StateService] })
export class StatesModule {}
