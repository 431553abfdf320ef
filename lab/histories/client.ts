import type { Answered, Calls } from './calls.js';
import { LatchkeyError, type Verifier } from '../../packages/server/src/index.js';
import { claimsWith, numberOf, verifiedNumberOf } from './claims.js';
import { claimsOf, type HeldSession, type HeldToken, type Ledger } from './ledger.js';
import type { Issued, Merge, Push, SignOut } from './operation.js';
import type { Recorder } from './recorder.js';

/** What all clients of a run share. */
export interface Shared {
  readonly calls: Calls;
  readonly recorder: Recorder;
  readonly ledger: Ledger;
  readonly serviceKey: string;
  /** Of two APIs: one calls the first instance, the other the second. */
  readonly verifiers: readonly Verifier[];
}

/** An account at the second provider, its user, and the user to whom it is to be joined. */
export type Pair = Pick<Merge, 'account' | 'former' | 'into'>;

interface PushAnswer {
  readonly id: string;
  readonly offset: number | null;
  readonly merged_into: string;
}

/** A state is a secret: 64 of its 256 bits name it well enough. */
const SHORT = 16;

export class Client {
  constructor(
    private readonly shared: Shared,
    readonly name: string,
  ) {}

  async authorize(instance: number, provider = 'stub'): Promise<string | undefined> {
    const answer = await this.shared.calls.ask(instance, `/oauth2/authorize?provider=${provider}`);
    const state = answer.outcome === 'ok' ? (answer.body['state'] as string) : undefined;
    const known = state === undefined ? {} : { state: state.slice(0, SHORT) };
    this.record({ kind: 'authorize', ...this.of(answer), ...known });
    return state;
  }

  /** @returns the session, or how the call ended without one */
  async signIn(
    instance: number,
    state: string,
    code: string,
    device: string | null,
  ): Promise<HeldSession | Exclude<Answered['outcome'], 'ok'>> {
    const body = { code, state, ...(device !== null && { device_id: device }) };
    const answer = await this.shared.calls.ask(instance, '/oauth2/token', { method: 'POST', body });
    const call = { kind: 'sign-in', ...this.of(answer), state: state.slice(0, SHORT), code, device } as const;
    if (answer.outcome !== 'ok') {
      this.record(call);
      return answer.outcome;
    }
    const user = answer.body['user_id'] as string;
    const [token, issued] = issuedBy(answer);
    this.record({ ...call, user, issued });
    const refreshToken = answer.body['refresh_token'] as string;
    const session = { id: issued.session, user, device, refreshToken, first: token, token };
    this.shared.ledger.add(session);
    return session;
  }

  /** The session gets the new token. @returns how it ended */
  async refresh(instance: number, session: HeldSession, idleFor?: number): Promise<Answered['outcome']> {
    const reported = idleFor === undefined ? {} : { idle_for: idleFor };
    const { refreshToken: refresh_token, program: client_id } = session;
    const ofProgram = client_id !== undefined && { grant_type: 'refresh_token', client_id };
    const body = { refresh_token, ...reported, ...ofProgram };
    const path = ofProgram ? '/oauth2/token' : '/oauth2/refresh';
    const answer = await this.shared.calls.ask(instance, path, { method: 'POST', body });
    const said = idleFor === undefined ? {} : { idleFor };
    const call = { kind: 'refresh', ...this.of(answer), session: session.id, ...said } as const;
    if (answer.outcome !== 'ok') {
      this.record(call);
      return answer.outcome;
    }
    const [token, issued] = issuedBy(answer);
    session.token = token;
    this.record({ ...call, issued });
    return 'ok';
  }

  async use(instance: number, { name, text }: HeldToken): Promise<Answered['outcome']> {
    const answer = await this.shared.calls.ask(instance, '/me', { bearer: text });
    const seen =
      answer.outcome === 'ok'
        ? { user: answer.body['user_id'] as string, claims: numberOf(answer.body) }
        : {};
    this.record({ kind: 'use', ...this.of(answer), token: name, ...seen });
    return answer.outcome;
  }

  async introspect(instance: number, { name, text }: HeldToken): Promise<Answered['outcome']> {
    const { calls, serviceKey: bearer } = this.shared;
    const asked = { method: 'POST', bearer, body: { token: text } } as const;
    const answer = await calls.ask(instance, '/oauth2/introspect', asked);
    const call = { kind: 'introspect', ...this.of(answer), token: name } as const;
    const { active, sub } = answer.body as { active?: boolean; sub?: string };
    if (active === true) this.record({ ...call, user: sub!, claims: numberOf(answer.body) });
    else if (answer.outcome !== 'ok') this.record(call);
    else this.record({ ...call, outcome: 'refused', error: 'inactive' });
    return active === false ? 'refused' : answer.outcome;
  }

  /** What an API does with the token of a request. @param api place of its verifier */
  async verify(api: number, { name, text }: HeldToken): Promise<Answered['outcome']> {
    const call = {
      kind: 'verify',
      client: this.name,
      instance: api,
      token: name,
      begun: performance.now(),
    } as const;
    try {
      const claims = await this.shared.verifiers[api]!.verify(text);
      const seen = { user: claims.sub, claims: verifiedNumberOf(claims) };
      this.record({ ...call, ended: performance.now(), outcome: 'ok', ...seen });
      return 'ok';
    } catch (error) {
      if (!(error instanceof LatchkeyError)) throw error;
      const { status, code } = error;
      const outcome = status === 401 ? 'refused' : 'unknown';
      this.record({ ...call, ended: performance.now(), outcome, status, error: code });
      return outcome;
    }
  }

  async setClaims(instance: number, user: string): Promise<void> {
    const { calls, serviceKey: bearer, ledger } = this.shared;
    const claims = ledger.number();
    const asked = { method: 'PUT', bearer, body: { claims: claimsWith(claims) } } as const;
    const answer = await calls.ask(instance, `/users/${user}/claims`, asked);
    this.record({ kind: 'claims', ...this.of(answer), user, claims });
  }

  /** `POST /sign-out`. */
  async signOut(
    instance: number,
    { token, user, device }: HeldSession,
    scope: 'current' | 'others' | 'all',
  ): Promise<Answered['outcome']> {
    const asked = { method: 'POST', body: { scope }, bearer: token.text } as const;
    const answer = await this.shared.calls.ask(instance, '/sign-out', asked);
    const current = device === null ? 'session' : 'device';
    const { session } = token.name;
    const what = { scope: scope === 'current' ? current : scope, user, session, device } as const;
    return this.ended(answer, { by: 'user', ...what, token: token.name });
  }

  async revoke(instance: number, { id, user, refreshToken }: HeldSession): Promise<Answered['outcome']> {
    const body = { token: refreshToken };
    const answer = await this.shared.calls.ask(instance, '/oauth2/revoke', { method: 'POST', body });
    return this.ended(answer, { by: 'revoke', scope: 'session', user, session: id, device: null });
  }

  /** What an application's backend does. @param device null: all of the user's */
  async signOutUser(instance: number, user: string, device: string | null): Promise<Answered['outcome']> {
    const { calls, serviceKey: bearer } = this.shared;
    const body = device === null ? {} : { device_id: device };
    const answer = await calls.ask(instance, `/users/${user}/sign-out`, { method: 'POST', body, bearer });
    const scope = device === null ? 'all' : 'device';
    return this.ended(answer, { by: 'service', scope, user, session: null, device });
  }

  async removeDevice(
    instance: number,
    { token, user }: HeldSession,
    device: string,
  ): Promise<Answered['outcome']> {
    const asked = { method: 'DELETE', bearer: token.text } as const;
    const answer = await this.shared.calls.ask(instance, `/devices/${device}`, asked);
    const what = { by: 'removal', scope: 'device', user, session: null, device } as const;
    return this.ended(answer, { ...what, token: token.name });
  }

  async rename(instance: number, { token, user }: HeldSession, device: string): Promise<void> {
    const name = `name ${this.shared.ledger.number()}`;
    const asked = { method: 'PATCH', bearer: token.text, body: { device_name: name } } as const;
    const answer = await this.shared.calls.ask(instance, `/devices/${device}`, asked);
    this.record({ kind: 'rename', ...this.of(answer), user, device, name, token: token.name });
  }

  async push(
    instance: number,
    push: Pick<Push, 'user' | 'device' | 'ttl' | 'n' | 'key'>,
  ): Promise<Answered['outcome']> {
    const { user, device, ttl, n, key } = push;
    const answer = await this.shared.calls.ask(instance, '/push', {
      method: 'POST',
      bearer: this.shared.serviceKey,
      body: {
        user_id: user,
        event: 'proof.push',
        data: { n },
        ...(device !== null && { device_id: device }),
        ...(ttl !== undefined && { ttl }),
      },
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });
    const { id, offset, merged_into: mergedInto } = answer.body as Partial<PushAnswer>;
    const placed = answer.outcome === 'ok' ? { id: id!, offset: offset! } : {};
    const former = mergedInto === undefined ? {} : { mergedInto };
    this.record({ kind: 'push', ...this.of(answer), ...push, ...placed, ...former });
    return answer.outcome;
  }

  /**
   * Proves an account for the user to whom it is to be joined.
   * @returns the token of a merge with the user of that account, or how the calls ended without one: `ok` if it is joined already
   */
  async prove(
    instance: number,
    caller: HeldSession,
    pair: Pair,
    code: string,
  ): Promise<{ readonly mergeToken: string } | Answered['outcome']> {
    const bearer = caller.token.text;
    const call = { kind: 'merge', ...pair, token: caller.token.name } as const;
    const asked = { method: 'POST', bearer, body: { provider: 'hub' } } as const;
    const begun = await this.shared.calls.ask(instance, '/me/identities', asked);
    this.record({ ...call, ...this.of(begun), step: 'begin' });
    if (begun.outcome !== 'ok') return begun.outcome;
    const body = { code, state: begun.body['state'] };
    const proved = await this.shared.calls.ask(instance, '/me/identities/complete', { ...asked, body });
    this.record({ ...call, ...this.of(proved), step: 'prove' });
    const mergeToken = proved.body['merge_token'] as string | undefined;
    return mergeToken === undefined ? proved.outcome : { mergeToken };
  }

  /** Makes the user of an account part of the caller, which ends all sessions of that user. */
  async merge(
    instance: number,
    { token }: HeldSession,
    pair: Pair,
    mergeToken: string,
  ): Promise<Answered['outcome']> {
    const asked = { method: 'POST', bearer: token.text, body: { merge_token: mergeToken } } as const;
    const answer = await this.shared.calls.ask(instance, '/me/identities/merge', asked);
    this.record({ kind: 'merge', ...this.of(answer), step: 'merge', ...pair, token: token.name });
    if (answer.outcome === 'refused') return 'refused';
    return this.ended(answer, { by: 'merge', scope: 'all', user: pair.former, session: null, device: null });
  }

  private ended(
    answer: Answered,
    what: Pick<SignOut, 'by' | 'scope' | 'user' | 'session' | 'device' | 'token'>,
  ): Answered['outcome'] {
    this.record({ kind: 'sign-out', ...this.of(answer), ...what });
    return answer.outcome;
  }

  private of({ body: _body, ...call }: Answered): Omit<Answered, 'body'> & { readonly client: string } {
    return { client: this.name, ...call };
  }

  private record(entry: Parameters<Recorder['record']>[0]): void {
    this.shared.recorder.record(entry);
  }
}

export function issuedBy({ body }: Answered): readonly [HeldToken, Issued] {
  const text = body['access_token'] as string;
  const { name, holder, audience, claims } = claimsOf(text);
  const { expires_in, refresh_token_expires_in, idle_expires_in } = body as Record<
    string,
    number | undefined
  >;
  const ends = {
    expiresIn: expires_in!,
    ...(refresh_token_expires_in !== undefined && { sessionExpiresIn: refresh_token_expires_in }),
    ...(idle_expires_in !== undefined && { idleExpiresIn: idle_expires_in }),
  };
  return [
    { name, text },
    { ...name, ...holder, audience, claims, ...ends },
  ];
}
