import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { plainArray } from '../../platform/database/batching.js';
import { Sql } from '../../platform/database/sql.js';
import type { SessionIds } from '../../platform/events.js';
import { ClaimsStore } from '../../user/claims.store.js';
import type { AccessTokenClaims } from './access-token.js';
import { AccessTokenVerifier } from './access-token.verifier.js';
import { Audiences, type Audience } from './audiences.js';
import { REFRESH_TOKEN, REFRESH_TOKENS } from './introspect.sql.js';
import type { Session } from '../sessions/session.entity.js';
import { SessionStore } from '../sessions/session.store.js';
import {
  DELEGATED,
  hashRefreshToken,
  parseRefreshToken,
  type Authentication,
  type ParsedRefreshToken,
} from '../refresh/refresh-token.js';

/** Valid token of either kind; times are seconds since the epoch. */
export interface InspectedToken extends Pick<AccessTokenClaims, 'iat' | 'exp' | 'iss' | 'aud' | 'scope'> {
  readonly session: SessionIds;
  readonly authentication: Authentication | undefined;
  readonly kind: 'Bearer' | 'refresh_token';
  /** Of a token for another API than the service itself. */
  readonly audience?: Audience | undefined;
  readonly clientId?: string;
  /** Of a refresh token: its session has ended, since nobody used it. */
  readonly isIdle?: boolean;
  readonly jti?: string;
  /** Version of the user's claims now; absent if it was not read. */
  readonly claimsVersion?: number;
}

interface Row {
  /** Counts from 1. */
  readonly place: number;
  readonly tokenHash: Buffer;
  readonly jkt: Buffer | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** The session has ended, since nobody used it. */
  readonly isIdle: boolean;
}
type Lookup = (session: SessionIds) => Promise<Row | undefined>;

@Injectable()
export class TokenInspector {
  private readonly findLive: Lookup;
  private readonly findSuspect: Lookup;

  constructor(
    private readonly accessTokens: AccessTokenVerifier,
    private readonly audiences: Audiences,
    private readonly sessions: SessionStore,
    private readonly claims: ClaimsStore,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly sql: Sql,
  ) {
    const read = (named: SessionIds[]): Promise<(Row | undefined)[]> => this.readEach(named);
    this.findLive = sql.batched('refresh-token', read);
    this.findSuspect = sql.batched('refresh-token-suspect', read);
  }

  /** @returns undefined for a token that is unknown, expired or ended */
  async inspect(token: string): Promise<InspectedToken | undefined> {
    const inspected = await this.find(token);
    return inspected?.isIdle ? undefined : inspected;
  }

  /**
   * Finds also a refresh token of a session past its idle end, which may have valid access tokens.
   * @param isSuspect whether the address has sent too many bad tokens: its lookups have batches of their own,
   *   so others do not wait
   * @returns undefined for a token that is unknown, expired or ended
   */
  async find(token: string, isSuspect = false): Promise<InspectedToken | undefined> {
    const parsed = parseRefreshToken(token) ?? parseRefreshToken(token, DELEGATED);
    if (!parsed) return this.inspectAccessToken(token);
    return this.inspectRefreshToken(token, parsed, isSuspect ? this.findSuspect : this.findLive);
  }

  private async inspectAccessToken(token: string): Promise<InspectedToken | undefined> {
    const accepted = [this.settings.publicUrl, ...this.audiences.names];
    const verified = await this.accessTokens.find(token, { audience: accepted });
    if (!verified) return undefined;
    const { jti, iat, exp, iss, aud, auth_time, acr, amr, client_id: clientId, scope } = verified.claims;
    const authentication = { auth_time, acr, amr };
    const { session, claimsVersion } = verified;
    const audience = this.audiences.find(aud);
    const delegation = audience && { audience, clientId, ...(scope !== undefined && { scope }) };
    const times = { iat, exp, iss, aud };
    return { session, authentication, kind: 'Bearer', jti, ...times, ...delegation, claimsVersion };
  }

  /**
   * Finds the session that a refresh token names, live or not, if it has this token, and its user exists:
   * events of a removed user keep no new facts.
   */
  async findSession(token: string, { userId, sessionId }: SessionIds): Promise<Session | undefined> {
    const session = await this.sessions.find({ userId, sessionId });
    if (!session?.tokenHash.equals(hashRefreshToken(token, session.jkt))) return undefined;
    return (await this.claims.find(userId)) && session;
  }

  /** Needs no proof, even of a bound session: a client that has a token may revoke it (RFC 7009). */
  private async inspectRefreshToken(
    token: string,
    { session, authentication }: ParsedRefreshToken,
    find: Lookup,
  ): Promise<InspectedToken | undefined> {
    const stored = await find(session);
    if (!stored?.tokenHash.equals(hashRefreshToken(token, stored.jkt))) return undefined;
    const { publicUrl } = this.settings;
    const { isIdle } = stored;
    const [iat, exp] = [seconds(stored.createdAt), seconds(stored.expiresAt)];
    const own = { iat, exp, iss: publicUrl, aud: publicUrl };
    return { session, authentication, kind: 'refresh_token', isIdle, ...own };
  }

  private async readEach(sessions: readonly SessionIds[]): Promise<(Row | undefined)[]> {
    const columns = [sessions.map(({ userId }) => userId), sessions.map(({ sessionId }) => sessionId)];
    const isOne = sessions.length === 1;
    const rows = await this.sql.query<Row>(
      isOne ? REFRESH_TOKEN : REFRESH_TOKENS,
      columns.map((column) => (isOne ? column[0] : plainArray(column))),
    );
    const found = new Map(rows.map((row) => [row.place, row]));
    return sessions.map((_, i) => found.get(i + 1));
  }
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
