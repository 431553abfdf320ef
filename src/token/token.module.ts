import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { AccessTokens } from './access-token.js';
import { AccessTokenStore } from './access-token.store.js';
import { JwksController } from './jwks.controller.js';
import { KeyService } from './key.service.js';
import { TokenService } from './token.service.js';

@Module({
  imports: [JwtModule.register({})],
  controllers: [JwksController],
  providers: [AccessTokens, AccessTokenStore, KeyService, TokenService],
  exports: [AccessTokens, KeyService, TokenService],
})
export class TokenModule {}
