import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { JwtService } from '@nestjs/jwt';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessTokens } from './access-tokens/access-token.js';
import { AccessTokenStore } from './access-tokens/access-token.store.js';
import { AccessTokenVerifier } from './access-tokens/access-token.verifier.js';
import { DpopProofs } from './dpop/dpop-proofs.js';
import { SessionFeed } from './feed/session-feed.js';
import { SessionFeedStore } from './feed/session-feed.store.js';
import { SessionFeedController } from './feed/session-feed.controller.js';
import { SessionFeedStreams } from './feed/session-feed.streams.js';
import { IntrospectController } from './access-tokens/introspect.controller.js';
import { JwksController } from './keys/jwks.controller.js';
import { JwtGuard } from './guard/jwt.guard.js';
import { IdTokens } from './sessions/id-tokens.js';
import { KeyRing } from './keys/key-ring.js';
import { KeyService } from './keys/key.service.js';
import { KeyStore } from './keys/key.store.js';
import { Totals } from './sessions/totals.js';
import { Session } from './sessions/session.entity.js';
import { ServiceKeys } from './guard/service-keys.js';
import { TokenInspector } from './access-tokens/token-inspector.js';
import { UserModule } from '../user/user.module.js';
import { TokenService } from './refresh/token.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Session]), UserModule],
  controllers: [JwksController, IntrospectController, SessionFeedController],
  providers: [
    AccessTokens,
    AccessTokenStore,
    AccessTokenVerifier,
    DpopProofs,
    SessionFeed,
    SessionFeedStreams,
    IdTokens,
    JwtGuard,
    KeyRing,
    KeyService,
    KeyStore,
    SessionFeedStore,
    ServiceKeys,
    TokenInspector,
    TokenService,
    Totals,
    { provide: JwtService, inject: [KeyService], useFactory: jwtWithOurKeys },
    { provide: APP_GUARD, useExisting: JwtGuard },
  ],
  exports: [
    AccessTokens,
    AccessTokenVerifier,
    DpopProofs,
    SessionFeed,
    IdTokens,
    JwtGuard,
    TokenInspector,
    TokenService,
    Totals,
  ],
})
export class TokenModule {}

/** Verifies with our own keys, as KeyObjects, which need no parsing. */
function jwtWithOurKeys(keys: KeyService): JwtService {
  return new JwtService({
    // Without a key, jsonwebtoken rejects the token.
    secretOrKeyProvider: (_type, token) => keys.verificationKey(token as string)?.publicKey ?? '',
  });
}
