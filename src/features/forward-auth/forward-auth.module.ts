import { Module } from '@nestjs/common';
import { TokenModule } from '../../token/token.module.js';
import { UserModule } from '../../user/user.module.js';
import { ForwardAuthController } from './forward-auth.controller.js';
import { ForwardAuth } from './forward-auth.service.js';

@Module({
  imports: [TokenModule, UserModule],
  controllers: [ForwardAuthController],
  providers: [ForwardAuth],
})
export class ForwardAuthModule {}
