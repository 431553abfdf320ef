import type { Call, Closed, HistoryEntry, Issued, Outcome, Stored } from './operation.js';
import { Random } from './random.js';
import { FINAL } from './rules/kept.js';

/** What a service that keeps the contract knows. */
interface Model {
  readonly living: Set<string>;
  readonly events: Stored[];
}

/** A client that listens. */
interface Listener {
  readonly client: string;
  readonly device: string;
  /** The offset of the last event that it has; undefined until it was ready. */
  position?: number;
}

interface Session {
  readonly id: string;
  readonly device: string;
  jti: string;
}

const KID = 'key';
const USER = 'user';

/**
 * A history as a service writes it that keeps the contract: calls of several clients of one user overlap, each takes effect at one
 * moment between its beginning and its end, and where no answer came (one in ten), at that moment, seconds later, or never.
 */
export class LegalHistory {
  readonly entries: HistoryEntry[] = [];
  private readonly random: Random;
  private readonly model: Model = { living: new Set(), events: [] };
  /** What is still to happen, by its time. */
  private readonly agenda: { readonly at: number; readonly run: () => void }[] = [];
  private readonly listeners: readonly Listener[];
  private now = 0;
  private numbers = 0;

  /** @param until when clients begin their last call, in milliseconds */
  constructor(
    seed: number,
    clients = 4,
    private readonly until = 20_000,
  ) {
    this.random = new Random(seed);
    for (let i = 0; i < clients; i++)
      this.at(this.random.next() * 100, () => this.act(`c${i}`, `d${i % 3}`, []));
    this.listeners = Array.from({ length: clients }, (_, i) => ({ client: `l${i}`, device: `d${i % 3}` }));
    for (const listener of this.listeners) this.at(this.random.next() * 500, () => this.listen(listener));
    while (this.agenda.length > 0) {
      this.agenda.sort((a, b) => b.at - a.at);
      const { at, run } = this.agenda.pop()!;
      this.now = at;
      run();
    }
    this.look();
  }

  private at(time: number, run: () => void): void {
    this.agenda.push({ at: time, run });
  }

  private soon(most: number): number {
    return this.now + 0.01 + this.random.next() * most;
  }

  private id(): string {
    return String(++this.numbers);
  }

  /** A client's next call; when it has ended, the one after it. */
  private act(client: string, device: string, sessions: Session[]): void {
    if (this.now > this.until) return;
    const next = (left: Session[]): void => this.at(this.soon(200), () => this.act(client, device, left));
    const session = this.random.oneOf(sessions);
    const kind = session
      ? this.random.weighted({ signIn: 2, refresh: 5, use: 5, signOut: 1, push: 5, rename: 1 })
      : 'signIn';
    if (kind === 'signIn')
      return this.signIn(client, device, (made) => next(made ? [...sessions, made] : sessions));
    if (kind === 'push') return this.push(client, () => next(sessions));
    const { id, jti } = session!;
    const token = { session: id, jti, kid: KID };
    const isAlive = (): boolean => this.model.living.has(id);
    const drop = (): void => next(sessions.filter((one) => one !== session));
    if (kind === 'refresh') {
      return this.call(client, isAlive, (call) => {
        const issued = this.issued(id, device);
        this.entries.push({
          kind: 'refresh',
          ...call,
          ...refusal(call, 'invalid_grant'),
          session: id,
          ...(call.outcome === 'ok' && { issued }),
        });
        if (call.outcome === 'ok') session!.jti = issued.jti;
        if (call.outcome === 'refused') drop();
        else next(sessions);
      });
    }
    if (kind === 'use') {
      return this.call(client, isAlive, (call) => {
        const user = call.outcome === 'ok' ? { user: USER } : {};
        this.entries.push({ kind: 'use', ...call, ...refusal(call, 'invalid_token'), token, ...user });
        next(sessions);
      });
    }
    if (kind === 'rename') {
      const name = `name ${this.id()}`;
      const rename = (): boolean =>
        isAlive() && this.append({ event: 'device.renamed', device: null, name }) > 0;
      return this.call(client, rename, (call) => {
        this.entries.push({
          kind: 'rename',
          ...call,
          ...refusal(call, 'invalid_token'),
          user: USER,
          device,
          name,
          token,
        });
        next(sessions);
      });
    }
    const scope = this.random.oneOf(['session', 'device', 'others', 'all'] as const)!;
    const before = new Map(this.devices);
    return this.call(
      client,
      () => isAlive() && this.end(scope, id, device),
      (call) => {
        const what = { by: 'user', scope, user: USER, session: id, device, token } as const;
        this.entries.push({ kind: 'sign-out', ...call, ...refusal(call, 'invalid_token'), ...what });
        next(
          call.outcome === 'ok'
            ? sessions.filter((one) => !before.has(one.id) || this.model.living.has(one.id))
            : sessions,
        );
      },
    );
  }

  private signIn(client: string, device: string, then: (made: Session | undefined) => void): void {
    const [state, code] = [this.id(), `${USER}.${this.id()}`];
    const issued = this.issued(this.id(), device);
    const { session } = issued;
    const begin = (): boolean => {
      this.entries.push({ kind: 'exchange', code, begun: this.now, ended: this.now });
      this.model.living.add(session);
      this.devices.set(session, device);
      this.tell('device.signed_in', device);
      return true;
    };
    this.call(client, begin, (call) => {
      const ok = call.outcome === 'ok' && { user: USER, issued };
      this.entries.push({ kind: 'sign-in', ...call, state, code, device, ...ok });
      then(ok ? { id: session, device, jti: issued.jti } : undefined);
    });
  }

  private push(client: string, then: () => void): void {
    const [n, id] = [this.id(), `event ${this.id()}`];
    const device = this.random.happens(0.3) ? `d${this.random.below(3)}` : null;
    let offset = 0;
    const append = (): boolean => (offset = this.append({ event: 'push', device, n, id })) > 0;
    this.call(client, append, (call) => {
      this.entries.push({
        kind: 'push',
        ...call,
        user: USER,
        device,
        n,
        ...(call.outcome === 'ok' && { id, offset }),
      });
      then();
    });
  }

  /** A socket from the history's end or from an offset on, for a while; then it comes back. */
  private listen(listener: Listener): void {
    const { client, device } = listener;
    const again = (): void => {
      if (this.now < this.until) this.at(this.soon(300), () => this.listen(listener));
    };
    const session = [...this.model.living].find((one) => this.devices.get(one) === device);
    if (session === undefined) return again();
    const { shared, position } = this.ready(listener, session);
    this.hear(listener, shared.socket, position, this.soon(3000), session, () => {
      const told = this.model.living.has(session) ? {} : { told: 'signed_out' };
      const at = { begun: this.now, ended: this.now };
      this.entries.push({ kind: 'closed', client, ...shared, ...at, reason: 'transport close', ...told });
      again();
    });
  }

  private ready(
    { client, device, position: from }: Listener,
    session: string,
  ): { shared: Pick<Closed, 'socket' | 'instance' | 'token'>; position: number } {
    const token = { session, jti: this.tokenOf.get(session)!, kid: KID };
    const shared = { socket: ++this.numbers, instance: 0, token };
    const offset = from ?? this.model.events.length;
    const call = { client, begun: this.now - 0.005, ended: this.now, outcome: 'ok' } as const;
    const came = from === undefined ? {} : { from };
    const holder = { user: USER, device, session };
    const ready = { user: USER, device, offset, recovered: true, holder, ...came };
    this.entries.push({ kind: 'connect', ...call, ...shared, ...ready });
    return { shared, position: offset };
  }

  /** @param position the last offset that it was given, or that was for somebody else */
  private hear(
    listener: Listener,
    socket: number,
    position: number,
    end: number,
    session: string,
    then: () => void,
  ): void {
    this.give(listener, socket, position);
    if (this.now >= end || !this.model.living.has(session)) return then();
    const { length } = this.model.events;
    this.at(this.soon(300), () => this.hear(listener, socket, length, end, session, then));
  }

  /** What a listener has not had, up to now. */
  private give(listener: Listener, socket: number, position: number): void {
    const { client, device } = listener;
    for (const { offset, id, event, device: target, n } of this.model.events.slice(position)) {
      if (target !== null && target !== device) continue;
      const at = { begun: this.now, ended: this.now };
      const what = { user: USER, device, event, id, offset, ...(n !== undefined && { n }) };
      this.entries.push({ kind: 'receive', client, socket, ...what, ...at });
      listener.position = offset;
    }
  }

  /** @param effect what it does at one moment; false: it is refused */
  private call(
    client: string,
    effect: () => boolean,
    then: (call: Omit<Call, 'status' | 'error'> & { client: string; begun: number; ended: number }) => void,
  ): void {
    const begun = this.now;
    const answers = !this.random.happens(0.1);
    if (!answers) {
      const fate = this.random.oneOf(['at once', 'late', 'never'] as const);
      if (fate !== 'never') this.at(this.soon(fate === 'late' ? 5000 : 20), () => void effect());
      const ended = this.soon(30) + 1;
      this.entries.push({ kind: 'fault', fault: 'clients-cut', target: 'instance 2', begun, ended });
      return this.at(ended, () => then({ client, instance: 1, begun, ended, outcome: 'unknown' }));
    }
    this.at(this.soon(20), () => {
      const outcome: Outcome = effect() ? 'ok' : 'refused';
      this.at(this.soon(20), () => then({ client, instance: 0, begun, ended: this.now, outcome }));
    });
  }

  private readonly devices = new Map<string, string>();
  private readonly tokenOf = new Map<string, string>();

  private issued(session: string, device: string): Issued {
    const jti = `token ${this.id()}`;
    this.tokenOf.set(session, jti);
    return { session, jti, kid: KID, user: USER, device, expiresIn: 3600 };
  }

  private end(scope: string, session: string, device: string): true {
    for (const one of this.model.living) {
      const isOfDevice = this.devices.get(one) === device;
      const isMeant = { session: one === session, device: isOfDevice, others: !isOfDevice, all: true }[scope];
      if (!isMeant) continue;
      this.model.living.delete(one);
      const its = this.devices.get(one)!;
      const isLast = ![...this.model.living].some((other) => this.devices.get(other) === its);
      if (isLast) this.tell('device.signed_out', its);
    }
    return true;
  }

  /** The user, of a device. */
  private tell(event: 'device.signed_in' | 'device.signed_out', device: string): void {
    this.append({ event, device: null, of: { device, name: null } });
  }

  private append({
    id = `event ${this.id()}`,
    ...event
  }: Pick<Stored, 'event' | 'device' | 'n' | 'name' | 'of'> & { id?: string }): number {
    const offset = this.model.events.length + 1;
    const time = { at: this.now, begun: 0, ended: 0 };
    this.model.events.push({ kind: 'stored', user: USER, id, offset, ...time, ...event });
    return offset;
  }

  /** At the end all listeners get all that there is, and all sessions are asked for. */
  private look(): void {
    for (const { device } of this.listeners) this.settle(device);
    for (const listener of this.listeners) {
      const session = [...this.model.living].find((one) => this.devices.get(one) === listener.device)!;
      const { shared, position } = this.ready(listener, session);
      this.give(listener, shared.socket, position);
    }
    this.entries.push(...this.model.events);
    for (const [session, device] of this.devices) {
      const isAlive = this.model.living.has(session);
      const outcome = isAlive ? 'ok' : 'refused';
      const call = { client: FINAL, instance: 0, begun: this.now, ended: this.now + 1, outcome } as const;
      const issued = isAlive ? { issued: this.issued(session, device) } : {};
      this.entries.push({ kind: 'refresh', ...call, ...refusal(call, 'invalid_grant'), session, ...issued });
    }
  }

  private settle(device: string): void {
    const issued = this.issued(this.id(), device);
    this.model.living.add(issued.session);
    this.devices.set(issued.session, device);
    this.tell('device.signed_in', device);
    const call = {
      client: 'settling',
      instance: 0,
      begun: this.now,
      ended: this.now + 1,
      outcome: 'ok',
    } as const;
    const [state, code] = [this.id(), `${USER}.${this.id()}`];
    this.entries.push({ kind: 'sign-in', ...call, state, code, device, user: USER, issued });
    this.now += 2;
  }
}

function refusal({ outcome }: Pick<Call, 'outcome'>, error: string): Pick<Call, 'status' | 'error'> {
  return outcome === 'refused' ? { status: 401, error } : {};
}
