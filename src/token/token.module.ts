import { Module } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ChannelModule } from '../channel/channel.module.js';
import { AccessTokens } from './access-tokens/access-token.js';
import { AccessTokenVerifier } from './access-tokens/access-token.verifier.js';
import { Audiences } from './access-tokens/audiences.js';
import { DpopProofs } from './dpop/dpop-proofs.js';
import { SessionFeed } from './feed/session-feed.js';
import { SessionFeedStore } from './feed/session-feed.store.js';
import { SessionFeedController } from './feed/session-feed.controller.js';
import { SessionFeedStreams } from './feed/session-feed.streams.js';
import { IntrospectController } from './access-tokens/introspect.controller.js';
import { JwksController } from './keys/jwks.controller.js';
import { JwtGuard, ServiceKeys } from './guard/jwt.guard.js';
import { IdTokens } from './sessions/id-tokens.js';
import { KeyRing } from './keys/key-ring.js';
import { KeyService } from './keys/key.service.js';
import { KeyStore } from './keys/key.store.js';
import { Totals } from './sessions/totals.js';
import { Session } from './sessions/session.entity.js';
import { RecentEnds } from './sessions/recent-ends.js';
import { SessionService } from './sessions/session.service.js';
import { SessionStore } from './sessions/session.store.js';
import { SessionTokens } from './access-tokens/session-tokens.js';
import { TokenInspector } from './access-tokens/token-inspector.js';
import { replaceable } from '../platform/database/replaceable.js';
import { UserModule } from '../user/user.module.js';
import { RefreshService } from './refresh/refresh.service.js';
import { RefreshStore } from './refresh/refresh.store.js';

@Module({
  imports: [ChannelModule, TypeOrmModule.forFeature([Session]), UserModule],
  controllers: [JwksController, IntrospectController, SessionFeedController],
  providers: [
    AccessTokens,
    AccessTokenVerifier,
    Audiences,
    DpopProofs,
    SessionFeed,
    SessionFeedStreams,
    IdTokens,
    JwtGuard,
    KeyRing,
    KeyService,
    KeyStore,
    SessionFeedStore,
    RecentEnds,
    ServiceKeys,
    SessionService,
    SessionTokens,
    TokenInspector,
    RefreshService,
    replaceable(RefreshStore),
    replaceable(SessionStore),
    replaceable(Totals),
    { provide: JwtService, inject: [KeyService], useFactory: jwtWithOurKeys },
  ],
  exports: [
    AccessTokens,
    AccessTokenVerifier,
    Audiences,
    DpopProofs,
    SessionFeed,
    IdTokens,
    JwtGuard,
    KeyStore,
    RecentEnds,
    SessionService,
    SessionStore,
    SessionTokens,
    TokenInspector,
    RefreshService,
    Totals,
  ],
})
export class TokenModule {}

/** Verifies with our own keys, as KeyObjects, which need no parsing. */
function jwtWithOurKeys(keys: KeyService): JwtService {
  return new JwtService({
    secretOrKeyProvider: (_type, token) => keys.findPublicKey(token as string),
  });
}
