import { Module } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessTokens } from './access-tokens/access-token.js';
import { AccessTokenStore } from './access-tokens/access-token.store.js';
import { AccessTokenVerifier } from './access-tokens/access-token.verifier.js';
import { DpopProofs } from './dpop/dpop-proofs.js';
import { EndedSessions } from './feed/ended-sessions.js';
import { EndedSessionStore } from './feed/ended-sessions.store.js';
import { EndedSessionsController, EndedSessionStreams } from './feed/ended-sessions.streams.js';
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
  controllers: [JwksController, IntrospectController, EndedSessionsController],
  providers: [
    AccessTokens,
    AccessTokenStore,
    AccessTokenVerifier,
    DpopProofs,
    EndedSessions,
    EndedSessionStreams,
    IdTokens,
    JwtGuard,
    KeyRing,
    KeyService,
    KeyStore,
    EndedSessionStore,
    ServiceKeys,
    TokenInspector,
    TokenService,
    Totals,
    { provide: JwtService, inject: [KeyService], useFactory: jwtWithOurKeys },
  ],
  exports: [
    AccessTokens,
    AccessTokenVerifier,
    DpopProofs,
    EndedSessions,
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
