import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { JwtSecretRequestType, JwtService } from '@nestjs/jwt';
import { AccessGuard } from './access.guard.js';
import { AccessTokens } from './access-token.js';
import { AccessTokenStore } from './access-token.store.js';
import { AccessTokenVerifier } from './access-token.verifier.js';
import { EndedSessions } from './ended-sessions.js';
import { IntrospectController } from './introspect.controller.js';
import { JwksController } from './jwks.controller.js';
import { KeyService } from './key.service.js';
import { RevokeController } from './revoke.controller.js';
import { ServiceKeys } from './service-keys.js';
import { SessionStore } from './session.store.js';
import { SignOutController } from './sign-out.controller.js';
import { TokenInspector } from './token-inspector.js';
import { TokenService } from './token.service.js';

@Module({
  controllers: [JwksController, RevokeController, IntrospectController, SignOutController],
  providers: [
    AccessTokens,
    AccessTokenStore,
    AccessTokenVerifier,
    EndedSessions,
    KeyService,
    ServiceKeys,
    SessionStore,
    TokenInspector,
    TokenService,
    { provide: JwtService, inject: [KeyService], useFactory: jwtWithOurKeys },
    { provide: APP_GUARD, useClass: AccessGuard },
  ],
  exports: [AccessTokens, AccessTokenVerifier, EndedSessions, SessionStore, TokenService],
})
export class TokenModule {}

/** KeyObjects, not PEM text: parsing that at every signature would cost ten times the signature. */
function jwtWithOurKeys(keys: KeyService): JwtService {
  return new JwtService({
    secretOrKeyProvider: (type, token) => {
      if (type === JwtSecretRequestType.SIGN) return keys.signing.privateKey;
      return keys.verificationKey(token as string) ?? ''; // no key: jsonwebtoken refuses
    },
  });
}
