import { setTimeout as delay } from 'node:timers/promises';
import { answerOf, API } from '../../../test/support/agent.js';
import { SocketClient } from '../../../test/support/socket-client.js';
import type { Answered } from '../calls.js';
import { issuedBy, type Shared } from '../client.js';
import type { HeldSession } from '../ledger.js';
import type { Call, Consent, Outcome, SignOut, Trespass } from '../operation.js';
import { Browser } from './browser.js';
import { PROGRAM, PROGRAM_DEVICE } from './program.js';

const LONGEST_MS = 10_000;

/** What a user has allowed: a code of the program. */
interface Granted {
  readonly consent: Consent;
  readonly body: object;
}

/** Calls of a program, and its end for all users. */
export class ProgramClient {
  constructor(
    private readonly shared: Shared,
    private readonly name: string,
    private readonly urls: readonly string[],
  ) {}

  /** @param code of the provider @returns undefined: the person got no further than some page */
  async ask(instance: number, code: string): Promise<Granted | undefined> {
    const browser = new Browser(this.urls[instance]!, code);
    const call = { kind: 'consent', client: this.name, instance, code, begun: performance.now() } as const;
    const patience = delay(LONGEST_MS, undefined, { ref: false }).then(() => ({ code: 'TIMEOUT' }));
    const answer = await Promise.race([
      browser.allow().catch((error: NodeJS.ErrnoException) => error),
      patience,
    ]);
    const ended = performance.now();
    if (!('status' in answer)) {
      this.shared.recorder.record({ ...call, ended, outcome: 'unknown', error: answer.code ?? 'Error' });
      return undefined;
    }
    const { status, headers } = answer;
    const isForProgram = headers['location'] !== undefined || headers['refresh'] !== undefined;
    const said = isForProgram ? answerOf(answer) : {};
    const outcome = said['code'] ? 'ok' : status >= 500 || isForProgram ? 'unknown' : 'refused';
    const error = said['error'] ?? (status >= 500 ? 'server_error' : undefined);
    const isAway = headers['retry-after'] !== undefined;
    const consent: Consent = {
      ...call,
      ended,
      outcome,
      status,
      ...(error !== undefined && { error }),
      ...(isAway && { retryAfter: true }),
    };
    this.shared.recorder.record(consent);
    const { client_id } = PROGRAM;
    const { verifier: code_verifier, redirectUri: redirect_uri } = browser;
    const sent = { grant_type: 'authorization_code', client_id, redirect_uri, code_verifier, resource: API };
    return outcome === 'ok' ? { consent, body: { ...sent, code: said['code'] } } : undefined;
  }

  /** @returns the session, or how the call ended without one; in any case it ends the former one of the user */
  async redeem(
    instance: number,
    user: string,
    { consent: { code, begun: since }, body }: Granted,
  ): Promise<HeldSession | Exclude<Outcome, 'ok'>> {
    const answer = await this.shared.calls.ask(instance, '/oauth2/token', { method: 'POST', body });
    const device = PROGRAM_DEVICE;
    const program = PROGRAM.client_id;
    const call = { kind: 'sign-in', ...this.of(answer), state: code, code, device, program, since } as const;
    if (answer.outcome !== 'ok') {
      this.shared.recorder.record(call);
      if (answer.outcome === 'unknown') this.ended(answer, { by: 'consent', user, session: null });
      return answer.outcome;
    }
    const [token, issued] = issuedBy(answer);
    this.shared.recorder.record({ ...call, user: issued.user, issued });
    this.ended(answer, { by: 'consent', user, session: issued.session });
    const refreshToken = answer.body['refresh_token'] as string;
    const session = { id: issued.session, user, device, program, refreshToken, first: token, token };
    this.shared.ledger.add(session);
    return session;
  }

  /** `POST /agents/sign-out`. @param users who may have allowed it */
  async endForAll(instance: number, users: readonly string[]): Promise<Outcome> {
    const { calls, serviceKey: bearer } = this.shared;
    const body = { client_id: PROGRAM.client_id };
    const answer = await calls.ask(instance, '/agents/sign-out', { method: 'POST', bearer, body });
    for (const user of users) this.ended(answer, { by: 'operator', user, session: null });
    return answer.outcome;
  }

  /** Shows tokens of the program where only tokens of the application are accepted. */
  async trespass(instance: number, { token, refreshToken }: HeldSession): Promise<void> {
    const { calls } = this.shared;
    const body = { refresh_token: refreshToken };
    const tried: readonly (readonly [Trespass['at'], Answered])[] = [
      ['/me', await calls.ask(instance, '/me', { bearer: token.text })],
      ['/oauth2/refresh', await calls.ask(instance, '/oauth2/refresh', { method: 'POST', body })],
      ['socket', await this.connect(instance, token.text)],
    ];
    for (const [at, answer] of tried)
      this.shared.recorder.record({ kind: 'trespass', ...this.of(answer), at, token: token.name });
  }

  private async connect(instance: number, token: string): Promise<Answered> {
    const begun = performance.now();
    const { socket } = SocketClient.open(this.urls[instance]!, { token });
    const error = await Promise.race([
      new Promise<string | undefined>((resolve) => {
        socket.on('connect', () => resolve(undefined));
        socket.on('connect_error', ({ message, data }: Error & { data?: { error?: string } }) =>
          resolve(data?.error ?? message),
        );
      }),
      delay(LONGEST_MS, 'TIMEOUT', { ref: false }),
    ]);
    socket.disconnect();
    const call = { instance, begun, ended: performance.now(), body: {} };
    if (error === undefined) return { ...call, outcome: 'ok' };
    return { ...call, outcome: error === 'invalid_token' ? 'refused' : 'unknown', error };
  }

  private ended(answer: Answered, what: Pick<SignOut, 'by' | 'user' | 'session'>): void {
    const device = { scope: 'device', device: PROGRAM_DEVICE } as const;
    this.shared.recorder.record({ kind: 'sign-out', ...this.of(answer), ...what, ...device });
  }

  private of({ body: _body, ...call }: Answered): Call {
    return { client: this.name, ...call };
  }
}
