import { CallQueue } from '../calls/call-queue.js';
import { readAnswer, readText } from '../calls/service-calls.js';
import { temporarilyUnavailable, type LatchkeyError } from '../latchkey-error.js';
import type { ProofKey } from './proof-key.js';

/** For a call with its repetition and its place in the queue. */
const TIMEOUT_MS = 5000;

/** An answer with an access token. */
export interface TokenAnswer {
  readonly access_token: string;
  /** Only of a sign-in. */
  readonly refresh_token?: string;
  /** Seconds. */
  readonly expires_in: number;
  /** Seconds until the session ends without a use. Absent if idle time does not apply. */
  readonly idle_expires_in?: number;
  /** Seconds until the session ends. Absent if only the service's `REFRESH_TOKEN_TTL` ends it. */
  readonly refresh_token_expires_in?: number;
}

/** A call's headers. */
interface Headers {
  readonly proofs?: ProofKey;
  readonly accessToken?: string;
  /** The user's address, or the chain of proxies: for `X-Forwarded-For`. */
  readonly address?: string | undefined;
}

/** Redeems, refreshes and revokes tokens, with proofs of possession (RFC 9449 §5). */
export class TokenCalls {
  private readonly queue = new CallQueue();
  /** Milliseconds by which the service's clock is ahead of this machine's. */
  private clockOffset = 0;

  constructor(
    private readonly service: {
      readonly issuer: string;
      readonly url: string;
      readonly serviceKey?: string | undefined;
    },
  ) {}

  /**
   * Asks for an access token.
   * @throws LatchkeyError `temporarily_unavailable`, also if the answer has none; the service's own, such as `invalid_grant`
   */
  async token(
    path: '/oauth2/token' | '/oauth2/refresh',
    body: Readonly<Record<string, string | number>>,
    headers: Headers & { readonly proofs: ProofKey },
  ): Promise<TokenAnswer> {
    const answer: Partial<TokenAnswer> | undefined = await this.send(path, body, headers);
    if (typeof answer?.access_token === 'string' && typeof answer.expires_in === 'number')
      return answer as TokenAnswer;
    throw temporarilyUnavailable(new Error('the answer has no access token'));
  }

  /**
   * Asks how long a session lives unless it is used (RFC 7662): other processes may have used it.
   * @returns seconds; undefined without a service key or an answer
   */
  async secondsLeft(refreshToken: string): Promise<number | undefined> {
    const { serviceKey: accessToken } = this.service;
    if (accessToken === undefined) return undefined;
    const body = { token: refreshToken, token_type_hint: 'refresh_token' };
    const sent: Promise<{ exp?: unknown } | undefined> = this.send('/oauth2/introspect', body, {
      accessToken,
    });
    const answer = await sent.catch(() => undefined);
    const now = (Date.now() + this.clockOffset) / 1000;
    return typeof answer?.exp === 'number' ? answer.exp - now : undefined;
  }

  /** Ends a session (RFC 7009). @throws LatchkeyError `temporarily_unavailable` */
  async revoke(
    refreshToken: string,
    reason: 'user' | 'replaced',
    headers: Pick<Headers, 'address'>,
  ): Promise<void> {
    await this.send('/oauth2/revoke', { token: refreshToken, reason }, { address: headers.address });
  }

  /**
   * Ends the sessions of the token's device, or its session.
   * @returns the provider's logout page, which leads to `redirectUri`; undefined without one
   * @throws LatchkeyError `temporarily_unavailable`; `invalid_token` if the session has ended
   */
  async signOut(
    redirectUri: string,
    headers: Headers & { readonly accessToken: string },
  ): Promise<string | undefined> {
    const body = { provider_logout: { redirect_uri: redirectUri } };
    const answer: { redirect_url?: string } | undefined = await this.send('/sign-out', body, headers);
    return answer?.redirect_url;
  }

  private send(
    path: string,
    body: object,
    { proofs, accessToken, address }: Headers,
  ): Promise<object | undefined> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const once = async (): Promise<object | undefined> => {
      const htu = this.service.issuer + path;
      const proof = await proofs?.proof(htu, Date.now() + this.clockOffset);
      const response = await fetch(this.service.url + path, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          ...(proof && { DPoP: proof }),
          ...(accessToken && { Authorization: `Bearer ${accessToken}` }),
          ...(address && { 'X-Forwarded-For': address }),
        },
        body: JSON.stringify(body),
        redirect: 'manual', // the tokens are for the service alone
        signal,
      });
      const text = await readText(response);
      this.readClock(response);
      return readAnswer(response, text);
    };
    return this.queue
      .run(() =>
        once().catch((error: LatchkeyError) => {
          // An idle connection may be closed just when it is used; a proof may be of a wrong clock. Each call has a new proof.
          const isRepeatable = error.status === undefined || error.code === 'invalid_dpop_proof';
          if (!isRepeatable || signal.aborted) throw error;
          return once();
        }),
      )
      .catch((error: LatchkeyError) => {
        const isAnswer = typeof error.status === 'number' && error.code !== 'invalid_dpop_proof';
        throw isAnswer ? error : temporarilyUnavailable(error);
      });
  }

  /** The service accepts proofs of the last minute by its own clock. */
  private readClock({ headers }: Response): void {
    const time = Date.parse(headers.get('date') ?? '');
    if (!Number.isNaN(time)) this.clockOffset = time - Date.now();
  }
}
