import { Audit } from './calls/audit.js';
import { Introspector, type Introspection } from './calls/introspector.js';
import { Pushes, type Pushed, type PushedEvent } from './calls/pushes.js';
import { ServiceCalls } from './calls/service-calls.js';
import { ServiceKey } from './calls/service-key.js';
import { Users } from './calls/users.js';
import { ChangedClaims } from './feed/changed-claims.js';
import { EndedSessions } from './feed/ended-sessions.js';
import { RevocationFeed } from './feed/revocation-feed.js';
import { invalidToken, temporarilyUnavailable, type LatchkeyError } from './latchkey-error.js';
import { checkNames } from './option-names.js';
import { readOptions, type Settings, type VerifierOptions } from './options.js';
import { challengeOf, ProtectedResource, type ProtectedResourceOptions } from './protected-resource.js';
import { readBearerToken, type WithHeaders } from './token/bearer.js';
import { KeySet } from './token/key-set.js';
import { isOfApplication, TokenSignature, type Claims, type SignedToken } from './token/token-signature.js';
import { carriesClaims, withUserClaims } from './token/user-claims.js';

/** The part of a verifier that the middleware needs: a test may replace it. */
export type Authenticator = Pick<Verifier, 'authenticate'>;

const PUSHED = {
  userId: true,
  event: true,
  data: true,
  deviceId: true,
  ttl: true,
  idempotencyKey: true,
} as const;

/** Verifies access tokens, and calls the service. Made by `createVerifier`, one per process. */
export class Verifier {
  /** The users of the service: finds, signs out, suspends and removes them, and sets their claims. */
  readonly users: Users;
  /** The audit trail of the service. */
  readonly audit: Audit;
  private readonly keys: KeySet;
  private readonly signature: TokenSignature;
  private readonly calls: ServiceCalls;
  private readonly introspector: Introspector;
  private readonly pushes: Pushes;
  private readonly ended: EndedSessions;
  private readonly changed: ChangedClaims;
  private readonly feed: RevocationFeed | undefined;
  private readonly settings: Settings;
  private readonly closing = new AbortController();

  /** @throws TypeError for an invalid option */
  constructor(options: VerifierOptions) {
    const settings = (this.settings = readOptions(options));
    const { url, warn } = settings;
    const serviceKey =
      settings.serviceKey === undefined ? undefined : new ServiceKey(settings.serviceKey, warn);
    this.ended = new EndedSessions(settings.clockTolerance);
    this.changed = new ChangedClaims(settings.clockTolerance);
    this.keys = new KeySet(url);
    this.signature = new TokenSignature(this.keys, settings);
    this.calls = new ServiceCalls(url, serviceKey);
    this.introspector = new Introspector(this.calls);
    this.pushes = new Pushes(this.calls);
    this.users = new Users(this.calls);
    this.audit = new Audit(this.calls, warn, this.closing.signal);
    this.feed =
      serviceKey === undefined
        ? undefined
        : new RevocationFeed({ url, serviceKey, warn }, this.ended, this.changed, this.keys);
  }

  /** Whether sign-outs are received at this moment; otherwise `whenAway` applies. False without a `serviceKey`. */
  get isNotified(): boolean {
    return this.feed?.isFresh ?? false;
  }

  /**
   * Returns the claims of a valid access token: with a `serviceKey` the user's current ones, also if the token is older.
   * @param token without `Bearer`
   * @throws LatchkeyError `invalid_token` (401); `temporarily_unavailable` (503) if the service cannot be reached;
   *   `service_key_refused` (500)
   *
   * @example
   * const { sub: userId } = await latchkey.verify(token);
   */
  async verify(token: string): Promise<Claims> {
    return this.challenging(async () => this.current(token, await this.signature.verify(token)));
  }

  /**
   * Verifies the signature of a token that is needed more than once, such as a session's. The function that it returns does the rest
   * of `verify`, at each call.
   * @throws LatchkeyError as `verify` does; so does the function
   *
   * @example
   * const current = await latchkey.follow(token);
   * const { roles } = await current(); // a moment later
   */
  async follow(token: string): Promise<() => Promise<Claims>> {
    const signed = await this.signature.verify(token);
    // A copy for each call: an application may change what it gets.
    return () => this.current(token, { ...signed, claims: structuredClone(signed.claims) });
  }

  private async current(token: string, signed: SignedToken): Promise<Claims> {
    this.signature.refuseExpired(signed);
    this.refuseEnded(signed); // after the signature: the session may have ended during the wait
    const { claims } = signed;
    const isUnclear = carriesClaimsOfResource(claims) && this.changed.replacing(claims) !== undefined;
    const mustAsk = isUnclear || this.feed?.isFresh === false;
    const answer = mustAsk ? await this.askService(token, signed, isUnclear) : undefined;
    // The feed may have returned during the introspection: then it is as current as the answer, or more so.
    const isFeedCurrent = !answer || this.feed?.isFresh;
    const known = isFeedCurrent && isOfApplication(claims) ? this.changed.replacing(claims) : undefined;
    return withUserClaims(claims, known ?? answer ?? claims);
  }

  /**
   * Verifies the token of a request's `Authorization` header.
   * @param request a `Request`, or any object with Node.js's `headers`
   * @throws LatchkeyError as `verify` does
   *
   * @example
   * const { sub } = await latchkey.authenticate(request);
   */
  async authenticate(request: WithHeaders): Promise<Claims> {
    const token = await this.challenging(async () => readBearerToken(request));
    return this.verify(token);
  }

  /**
   * Declares an API that programs of third parties use (RFC 9728): errors with 401 name its metadata and scopes from now on, in this
   * process. Express, Fastify, Hono and NestJS have a `protectedResource()` of their own.
   * @returns what answers requests for the metadata
   * @throws TypeError for an invalid option, or a resource that is no `audience` of this verifier
   *
   * @example
   * const resource = latchkey.protectedResource({ resource: 'https://api.example.com/mcp', scopes: ['orders:read'] });
   * const answer = resource.handle(request) ?? (await listOrders(request));
   */
  protectedResource(options: ProtectedResourceOptions): ProtectedResource {
    return new ProtectedResource(options, this.settings);
  }

  /**
   * Asks the service about a token (RFC 7662). Needs the right `read`.
   * @param tokenTypeHint a refresh token is `active` only with `refresh_token`
   * @throws LatchkeyError `temporarily_unavailable`, `service_key_refused`
   */
  introspect(token: string, tokenTypeHint?: 'access_token' | 'refresh_token'): Promise<Introspection> {
    const body = { token, ...(tokenTypeHint && { token_type_hint: tokenTypeHint }) };
    return this.calls.send('/oauth2/introspect', { right: 'read', body, isRepeatable: true });
  }

  /**
   * Sends an event to a user's devices. Needs the right `push`. Events that are pushed in one turn of the event loop go to the service
   * together, 100 in a call; those of a user in the order in which they were pushed. Each has its own result. Not repeated after a
   * failure: repeat it yourself with the `idempotencyKey` of the first attempt.
   * @throws LatchkeyError `not_found` for an unknown user or device; `temporarily_unavailable`, `service_key_refused`.
   *   TypeError for data that is no JSON, and for an unknown member
   *
   * @example
   * await latchkey.push({ userId: order.userId, event: 'order.shipped', data: { id: order.id } });
   */
  // oxlint-disable-next-line typescript/require-await -- rejects for invalid parameters
  async push(pushed: PushedEvent): Promise<Pushed> {
    checkNames('push()', pushed, PUSHED);
    return this.pushes.push(pushed);
  }

  /** Closes the connections to the service, which otherwise keep the process alive; audit streams end. */
  close(): void {
    this.feed?.close();
    this.closing.abort();
  }

  private async askService(
    token: string,
    signed: SignedToken,
    isUnclear: boolean,
  ): Promise<Introspection | undefined> {
    const { whenAway } = this.settings;
    if (whenAway === 'accept' && !isUnclear) return undefined;
    if (whenAway === 'refuse' && !this.feed?.isFresh) throw this.feed?.refusal ?? temporarilyUnavailable();
    const answer = await this.introspector.ask(token);
    if (!answer.active) throw endedToken();
    this.refuseEnded(signed);
    return answer;
  }

  private refuseEnded({ claims, kid }: SignedToken): void {
    if (this.ended.has(claims.sid)) throw endedToken();
    if (this.keys.isRevoked(kid)) throw invalidToken('the access token is invalid');
    if (carriesClaimsOfResource(claims) && this.changed.isOlder(claims))
      throw invalidToken('the claims of the user have changed since the access token was issued');
  }

  private async challenging<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw challengeOf(error, this.settings.audience);
    }
  }
}

/** Whether a token has claims that only the service may replace: it knows which of them a program may have. */
const carriesClaimsOfResource = (claims: Claims): boolean =>
  !isOfApplication(claims) && carriesClaims(claims);

const endedToken = (): LatchkeyError => invalidToken('the session of the access token has ended');
