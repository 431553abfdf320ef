import { setTimeout as delay } from 'node:timers/promises';
import { EventStreamReader, type ReadEvent } from '../../test/support/event-stream.js';
import { numberOf } from './claims.js';
import type { Shared } from './client.js';
import type { ClaimsNumber } from './operation.js';

/** As docs/ended-sessions.md#a-reader says: after two seconds of silence the reader connects to another instance. */
const SILENCE_MS = 2000;
const LOOK_EVERY_MS = 20;
const AGAIN_MS = 200;

/** Reads the session feed over one connection after another, with the cursor, and records each ended session once. */
export class FeedReader {
  private cursor: string | undefined;
  private stopped = false;
  private readonly sessions = new Set<string>();
  private readonly claims = new Map<string, ClaimsNumber>();

  /**
   * @param instance with which the reader begins
   * @param drops a planted fault: events that do not come
   */
  constructor(
    private readonly client: string,
    private instance: number,
    private readonly urls: readonly string[],
    private readonly shared: Pick<Shared, 'ledger' | 'recorder' | 'serviceKey'>,
    private readonly drops: (event: ReadEvent) => boolean = () => false,
  ) {}

  /** Resolves after `stop()`. */
  async run(): Promise<void> {
    while (!this.stopped) {
      await this.connection();
      this.instance = (this.instance + 1) % this.urls.length;
      if (!this.stopped) await delay(AGAIN_MS);
    }
  }

  stop(): void {
    this.stopped = true;
  }

  private async connection(): Promise<void> {
    const opening = EventStreamReader.open(this.urls[this.instance]!, this.shared.serviceKey, this.cursor);
    const silence = delay(SILENCE_MS, undefined, { ref: false });
    const stream = await Promise.race([opening.catch(() => undefined), silence]);
    if (!stream) {
      void opening.then((late) => late.close()).catch(() => undefined);
      return;
    }
    let [last, readings, life] = [performance.now(), 0, 0];
    while (!stream.response.closed && !this.stopped && performance.now() - last < SILENCE_MS) {
      const events = stream.events.splice(0);
      if (events.length > 0 || stream.readings.length > readings || stream.signsOfLife > life)
        last = performance.now();
      [readings, life] = [stream.readings.length, stream.signsOfLife];
      for (const event of events) if (!this.drops(event)) this.take(event);
      if (stream.lastEventId !== '') this.cursor = stream.lastEventId;
      await delay(LOOK_EVERY_MS);
    }
    stream.close();
  }

  /** A reader gets the events of the last minutes again after each connect: only what is new is recorded. */
  private take({ event, data, at }: ReadEvent): void {
    const { client, instance } = this;
    const { ledger, recorder } = this.shared;
    const { session_id: session, user_id: user } = data;
    if (!ledger.users.has(user!)) return; // of an earlier history
    const entry = { kind: 'feed', client, instance, user: user!, begun: at, ended: at } as const;
    if (event === 'ended' && !this.sessions.has(session!)) {
      this.sessions.add(session!);
      recorder.record({ ...entry, session: session! });
    }
    if (event !== 'claims_changed') return;
    const claims = numberOf(data);
    if (claims !== this.claims.get(user!)) recorder.record({ ...entry, claims });
    this.claims.set(user!, claims);
  }
}
