import { readBearerToken, type WithHeaders } from './bearer.js';
import type { Claims } from './claims.js';
import { EndedSessions } from './ended-sessions.js';
import { EndedStream } from './ended-stream.js';
import type { Introspection } from './introspection.js';
import { Introspector } from './introspector.js';
import { KeySet } from './key-set.js';
import { invalidToken, temporarilyUnavailable, type LatchkeyError } from './latchkey-error.js';
import { readOptions, type VerifierOptions, type WhenAway } from './options.js';
import { push, type Pushed, type PushedEvent } from './push.js';
import { ServiceCalls } from './service-calls.js';
import { ServiceKey } from './service-key.js';
import { signOutUser, type UserToSignOut } from './sign-out-user.js';
import { TokenSignature, type SignedToken } from './token-signature.js';

const TIMEOUT_MS = 5000;

/** What the middleware needs of a verifier: a test may have its own. */
export type Authenticator = Pick<Verifier, 'authenticate'>;

/** Judges the access tokens that an API is called with, and calls the service for it. One for each process. */
export class Verifier {
  private readonly keys: KeySet;
  private readonly signature: TokenSignature;
  private readonly calls: ServiceCalls;
  private readonly introspector: Introspector;
  private readonly ended: EndedSessions;
  private readonly stream: EndedStream | undefined;
  private readonly whenAway: WhenAway;

  /** @throws TypeError for an option that cannot be right */
  constructor(options: VerifierOptions) {
    const settings = readOptions(options);
    const { url, warn } = settings;
    const serviceKey =
      settings.serviceKey === undefined ? undefined : new ServiceKey(settings.serviceKey, warn);
    this.whenAway = settings.whenAway;
    this.ended = new EndedSessions(settings.clockTolerance);
    this.keys = new KeySet(url);
    this.signature = new TokenSignature(this.keys, settings);
    this.calls = new ServiceCalls(url, serviceKey);
    this.introspector = new Introspector(this.calls);
    this.stream =
      serviceKey === undefined
        ? undefined
        : new EndedStream({ url, serviceKey, warn }, this.ended, this.keys);
  }

  /**
   * Whether it is told of sign-outs at this moment: if not, `whenAway` decides about each request. False without a
   * `serviceKey`.
   */
  get isTold(): boolean {
    return this.stream?.isFresh ?? false;
  }

  /**
   * What an access token says, if it is good at this moment.
   * @param token without `Bearer`
   * @throws LatchkeyError `invalid_token` (401); `temporarily_unavailable` (503) if the service cannot be asked;
   *   `service_key_refused` (500)
   */
  async verify(token: string): Promise<Claims> {
    const signed = await this.signature.verify(token);
    this.refuseEnded(signed); // only now: it may have ended meanwhile
    if (this.stream && !this.stream.isFresh) await this.verifyAway(token, signed);
    return signed.claims;
  }

  /**
   * The same for a request's `Authorization` header.
   * @param request a `Request`, or anything with Node.js's `headers`
   */
  async authenticate(request: WithHeaders): Promise<Claims> {
    return this.verify(readBearerToken(request));
  }

  /**
   * Asks the service about a token: whether it is good, and what it says.
   * @param tokenTypeHint a refresh token is `active` only with `refresh_token`
   * @throws LatchkeyError
   */
  introspect(token: string, tokenTypeHint?: 'access_token' | 'refresh_token'): Promise<Introspection> {
    const body = { token, ...(tokenTypeHint && { token_type_hint: tokenTypeHint }) };
    return this.calls.post('/oauth2/introspect', {
      right: 'read',
      body,
      timeoutMs: TIMEOUT_MS,
      isRepeatable: true,
    });
  }

  /**
   * Sends an event to a user's devices. Not tried again: give an `idempotencyKey` if you do that.
   * @throws LatchkeyError `not_found` for an unknown user or device
   */
  push(event: PushedEvent): Promise<Pushed> {
    return push(this.calls, event, TIMEOUT_MS);
  }

  /**
   * Ends all sessions of a user, or of one of their devices. May be repeated.
   * @throws LatchkeyError `not_found` for an unknown user or device
   */
  signOutUser(user: UserToSignOut): Promise<void> {
    return signOutUser(this.calls, user, TIMEOUT_MS);
  }

  /** Ends the stream of sign-outs, which otherwise keeps the process alive. */
  close(): void {
    this.stream?.close();
  }

  private async verifyAway(token: string, signed: SignedToken): Promise<void> {
    if (this.whenAway === 'accept') return;
    if (this.whenAway === 'refuse') throw this.stream?.refusal ?? temporarilyUnavailable();
    if (!(await this.introspector.isActive(token))) throw endedToken();
    this.refuseEnded(signed);
  }

  private refuseEnded({ claims, kid }: SignedToken): void {
    if (this.ended.has(claims.sid)) throw endedToken();
    if (this.keys.isRevoked(kid)) throw invalidToken('the access token is invalid');
  }
}

const endedToken = (): LatchkeyError => invalidToken('the session of the access token has ended');
