import { Module } from '@nestjs/common';
import { StateService } from './state.service.js';

/** States of sign-ins, and of the administration page's test sign-ins. */
@Module({ providers: [StateService], exports: [StateService] })
export class StatesModule {}
