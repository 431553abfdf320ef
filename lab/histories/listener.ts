import { setTimeout as delay } from 'node:timers/promises';
import { io } from 'socket.io-client';
import { numberOf } from './claims.js';
import type { Receive, TokenName } from './operation.js';
import type { Random } from '../../test/support/random.js';
import type { Recorder } from './recorder.js';

const LONGEST_MS = 10_000;
const AGAIN_MS = 100;

/** What its person gives it: who it is, and a token. */
export interface Owner {
  readonly device: string | null;
  readonly user: string;
  /** A token of a session of this user on this device; undefined: none can be had now. */
  token(): Promise<{ readonly name: TokenName; readonly text: string } | undefined>;
  /** The token was refused. */
  refused(name: TokenName): void;
}

interface Meta {
  readonly id: string;
  readonly offset: number | null;
}

interface Ready {
  readonly user_id: string;
  readonly session_id: string;
  readonly device_id: string | null;
  readonly offset: number;
  readonly id: string | null;
  readonly recovered: boolean;
}

let sockets = 0;

/** One client of the channel: when its socket closes, it comes back to some instance with its last offset and id. */
export class Listener {
  /** The last event that it has. */
  position: { readonly offset: number; readonly id: string | null } | undefined;
  /** Closes the socket that there is, also one that is not connected yet: `disconnect` says nothing of that. */
  private leave: (() => void) | undefined;
  private stopped = false;

  constructor(
    private readonly client: string,
    private readonly owner: Owner,
    private readonly urls: readonly string[],
    private readonly recorder: Recorder,
    private readonly random: Random,
  ) {}

  /** Resolves when it was stopped. */
  async run(): Promise<void> {
    while (!this.stopped) {
      const token = await this.owner.token();
      const wasReady = token && (await this.listen(token.name, token.text));
      if (!wasReady && !this.stopped) await delay(AGAIN_MS * (0.5 + this.random.next()));
    }
  }

  move(): void {
    this.leave?.();
  }

  stop(): void {
    this.stopped = true;
    this.move();
  }

  /** Resolves when the socket has closed. @returns whether it was ready before */
  private listen(token: TokenName, text: string): Promise<boolean> {
    const { client, owner, recorder, position } = this;
    const { user, device } = owner;
    const instance = this.random.below(this.urls.length);
    const number = ++sockets;
    const begun = performance.now();
    const shared = { client, socket: number, instance, token };
    const from = position && { from: position.offset };
    const attempt = { kind: 'connect', ...shared, user, device, begun, ...from } as const;
    const auth = {
      token: text,
      ...(position && { offset: position.offset, ...(position.id && { id: position.id }) }),
    };
    const socket = io(this.urls[instance]!.replace('//localhost:', '//127.0.0.1:'), {
      auth,
      transports: ['websocket'],
      reconnection: false,
      forceNew: true,
      timeout: LONGEST_MS,
    });
    let isReady = false;
    let told: string | undefined;
    return new Promise((resolve) => {
      const finish = (reason: string, error?: string): void => {
        clearTimeout(patience);
        this.leave = undefined;
        socket.removeAllListeners();
        socket.disconnect();
        const ended = performance.now();
        if (!isReady) {
          const outcome = error === 'invalid_token' ? 'refused' : 'unknown';
          recorder.record({ ...attempt, ended, outcome, error: error ?? told ?? reason });
          if (outcome === 'refused') owner.refused(token);
        } else {
          const sawEnd = told === undefined ? {} : { told };
          recorder.record({ kind: 'closed', ...shared, begun: ended, ended, reason, ...sawEnd });
        }
        if (told === 'signed_out' || told === 'revoked') owner.refused(token);
        resolve(isReady);
      };
      const patience = setTimeout(() => finish('no ready'), LONGEST_MS);
      this.leave = () => finish('io client disconnect');
      socket.on('connect_error', (error: Error & { data?: { error?: string } }) =>
        finish(error.message, error.data?.error),
      );
      socket.on('disconnect', (reason) => finish(reason));
      socket.onAny((event: string, data: unknown, meta?: Meta) => {
        const now = performance.now();
        if (meta) return this.receive(shared, event, data, meta, now);
        if (event === 'session.ended') told = (data as { reason: string }).reason;
        if (event !== 'ready') return;
        isReady = true;
        clearTimeout(patience);
        const { user_id, session_id, device_id, offset, id, recovered } = data as Ready;
        this.position = { offset, id };
        const holder = { user: user_id, session: session_id, device: device_id };
        recorder.record({ ...attempt, ended: now, outcome: 'ok', offset, recovered, holder });
      });
    });
  }

  private receive(
    { client, socket }: { client: string; socket: number },
    event: string,
    data: unknown,
    { id, offset }: Meta,
    now: number,
  ): void {
    const { user, device } = this.owner;
    const { n } = (data ?? {}) as Pick<Receive, 'n'>;
    const claims = event === 'claims.changed' && { claims: numberOf(data as Record<string, unknown>) };
    const carried = { ...(n !== undefined && { n }), ...claims };
    const what = { user, device, event, id, offset, ...carried };
    this.recorder.record({ kind: 'receive', client, socket, ...what, begun: now, ended: now });
    if (offset !== null) this.position = { offset, id };
  }
}
