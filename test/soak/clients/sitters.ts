import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { io, type Socket } from 'socket.io-client';
import type { Http } from './http.js';
import type { People } from './people.js';
import type { Place, Session } from './place.js';
import type { Tally } from './tally.js';

const LONGEST_PAUSE_MS = 4000;
const LONGEST_VISIT_MS = 60_000;
/** Of four: one goes by itself, one renews its token as long as it can, two stay until they are closed. */
const HABITS = ['goes', 'renews', 'stays', 'stays'] as const;

/** People who sit at a socket: they connect, stay, are closed when their token expires, and come back with their offset. */
export class Sitters {
  private isOver = false;
  private readonly sockets = new Set<Socket>();

  constructor(
    private readonly people: People,
    private readonly http: Http,
    private readonly tally: Tally,
  ) {}

  /** Resolves after `stop`. @param count sockets, at most so many at a time */
  async run(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, i) => this.sit(HABITS[i % HABITS.length]!)));
  }

  stop(): void {
    this.isOver = true;
    for (const socket of this.sockets) socket.close();
  }

  private async sit(habit: (typeof HABITS)[number]): Promise<void> {
    while (!this.isOver) {
      await delay(randomInt(LONGEST_PAUSE_MS), undefined, { ref: false });
      const place = this.isOver ? undefined : await this.people.withToken(performance.now());
      if (place && !this.isOver) await this.visit(place, habit);
    }
  }

  private async visit(place: Place, habit: (typeof HABITS)[number]): Promise<void> {
    const session = place.session!;
    const { offset } = session;
    const began = performance.now();
    const socket = io(this.http.url, {
      auth: { token: session.accessToken, ...(offset !== undefined && { offset }) },
      transports: ['websocket'],
      reconnection: false,
      forceNew: true,
      extraHeaders: { 'X-Forwarded-For': place.address() },
    });
    this.sockets.add(socket);
    this.listen(socket, session);
    const ended = new Promise<string>((resolve) => {
      socket.once('disconnect', resolve);
      socket.once('connect_error', (error) => resolve(`refused: ${error.message}`));
    });
    // Held until it is ready, so that nobody signs it out meanwhile.
    const ready = new Promise<'ready'>((resolve) => socket.once('ready', () => resolve('ready')));
    const isReady = (await place.hold(() => Promise.race([ready, ended]))) === 'ready';
    if (isReady) this.tally.took('connect', began);
    if (habit === 'goes') setTimeout(() => socket.close(), randomInt(LONGEST_VISIT_MS)).unref();
    if (habit === 'renews') socket.on('token.expiring', () => void this.renew(socket, place, session));
    const reason = await ended;
    this.sockets.delete(socket);
    socket.close();
    this.tally.count(`socket: ${reason}`);
    const isUsual = isReady && ['io server disconnect', 'io client disconnect'].includes(reason);
    if (!this.isOver && !isUsual)
      this.tally.wrong(`socket${isReady ? '' : ' that was never ready'}: ${reason}`);
  }

  private listen(socket: Socket, session: Session): void {
    socket.onAny(
      (event: string, data: { reason?: string; offset?: number }, meta?: { offset: number | null }) => {
        const offset = event === 'ready' ? data.offset : meta?.offset;
        if (typeof offset === 'number') session.offset = offset;
        if (event === 'session.ended') this.tally.count(`session.ended: ${data.reason}`);
        if (meta) this.tally.count('events received');
      },
    );
  }

  private async renew(socket: Socket, place: Place, session: Session): Promise<void> {
    if (place.session !== session || !(await this.people.refreshAt(place, performance.now()))) return;
    if (place.session !== session || !socket.connected) return;
    await place.hold(async () => {
      const answer = (await socket
        .timeout(10_000)
        .emitWithAck('authenticate', { token: session.accessToken })
        .catch((error: Error) => ({ error: error.message }))) as { error?: string };
      if (answer.error !== undefined && socket.connected) this.tally.wrong(`authenticate: ${answer.error}`);
      else this.tally.count('renewals');
    });
  }
}
