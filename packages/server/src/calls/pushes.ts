import { LatchkeyError, temporarilyUnavailable } from '../latchkey-error.js';
import type { ServiceCalls } from './service-calls.js';

/** An event for a user's channel. */
export interface PushedEvent {
  /** The user: `claims.sub`. */
  userId: string;
  /** Its name: letters, digits and `_ . : -`, 128 at most. */
  event: string;
  /** Any JSON. */
  data?: unknown;
  /** Only this device: `claims.device_id`. */
  deviceId?: string;
  /** Seconds for which the event is kept for devices that are not connected. Default a day; 0: only connected devices. */
  ttl?: number;
  /** Events with an equal key within 24 hours are sent once. Such an event goes to the service alone. */
  idempotencyKey?: string;
}

/** The answer to a push. */
export interface Pushed {
  readonly id: string;
  /** Its number in the user's history; null with `ttl` 0. */
  readonly offset: number | null;
  /** Whether a device is connected. */
  readonly online: boolean;
}

interface Waiting {
  readonly user: string;
  /** Body of `POST /push`. */
  readonly json: string;
  readonly idempotencyKey: string | undefined;
  readonly since: number;
  readonly resolve: (pushed: Pushed) => void;
  readonly reject: (error: unknown) => void;
}

type Result = Pushed | { readonly error: string; readonly error_description?: unknown };

const MOST_EVENTS = 100;
/** Bytes of a batch, below the service's 1 MiB with all commas. */
const LARGEST_BATCH = 1_048_000;
/** Bytes; a larger event goes alone, and the service refuses it. */
const LARGEST_EVENT = 65_536;
const CALLS_AT_A_TIME = 100;
const MOST_WAITING = 10_000;
/** For the events of the same user before. */
const LONGEST_WAIT_MS = 5000;
/** Of a whole batch: nothing was sent, and one event alone may be the cause, or a service without batches. */
const REFUSED_AS_A_WHOLE: ReadonlySet<number> = new Set([400, 404, 405, 413]);

/**
 * Sends the events that are pushed in one turn of the event loop together. Those of a user are sent in their order: the next ones wait
 * until the service has answered.
 */
export class Pushes {
  /** Events by user, in their order. */
  private readonly lanes = new Map<string, Waiting[]>();
  private readonly busy = new Set<string>();
  private waiting = 0;
  private running = 0;
  private isNear = false;

  constructor(private readonly calls: ServiceCalls) {}

  /** @throws TypeError for data that is no JSON; LatchkeyError as Verifier.push */
  push({ userId, event, data, deviceId, ttl, idempotencyKey }: PushedEvent): Promise<Pushed> {
    void this.calls.serviceKey; // throws without one
    const json = JSON.stringify({ user_id: userId, event, data, device_id: deviceId, ttl });
    if (this.waiting >= MOST_WAITING) throw temporarilyUnavailable();
    const user = userId.toLowerCase();
    return new Promise((resolve, reject) => {
      const one = { user, json, idempotencyKey, since: performance.now(), resolve, reject };
      const lane = this.lanes.get(user);
      if (lane) lane.push(one);
      else this.lanes.set(user, [one]);
      this.waiting++;
      this.soon();
    });
  }

  private soon(): void {
    if (this.isNear || this.waiting === 0) return;
    this.isNear = true;
    setImmediate(() => {
      this.isNear = false;
      while (this.running < CALLS_AT_A_TIME) {
        const batch = this.next();
        if (batch.length === 0) return;
        void this.serve(batch);
      }
    });
  }

  /** Takes events of users whose earlier ones were answered, as many as fit into one call. */
  private next(): Waiting[] {
    const batch: Waiting[] = [];
    let room = LARGEST_BATCH;
    for (const [user, lane] of this.lanes) {
      if (batch.length === MOST_EVENTS) break;
      if (this.busy.has(user)) continue;
      while (lane.length > 0 && batch.length < MOST_EVENTS) {
        const [one] = lane as [Waiting];
        const bytes = Buffer.byteLength(one.json) + 1;
        const isAlone = one.idempotencyKey !== undefined || bytes > LARGEST_EVENT;
        if (bytes > room || (isAlone && batch.length > 0)) break;
        room = isAlone ? 0 : room - bytes;
        batch.push(lane.shift()!);
      }
      if (lane.length === 0) this.lanes.delete(user);
    }
    for (const { user } of batch) this.busy.add(user);
    this.waiting -= batch.length;
    return batch;
  }

  /** Never rejects. */
  private async serve(batch: readonly Waiting[]): Promise<void> {
    this.running++;
    const inTime = batch.filter((one) => !rejectLate(one, LONGEST_WAIT_MS));
    if (inTime.length === 1) await this.sendAlone(inTime[0]!);
    else if (inTime.length > 1) await this.sendBatched(inTime);
    for (const { user } of batch) this.busy.delete(user);
    this.running--;
    this.soon();
  }

  private async sendAlone({ json, idempotencyKey, resolve, reject }: Waiting): Promise<void> {
    const headers = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    try {
      resolve(await this.calls.send<Pushed>('/push', { right: 'push', body: json, headers }));
    } catch (error) {
      reject(error);
    }
  }

  private async sendBatched(batch: readonly Waiting[]): Promise<void> {
    try {
      const body = `{"events":[${batch.map(({ json }) => json).join()}]}`;
      const { results } = await this.calls.send<{ results?: readonly Result[] }>('/push/batch', {
        right: 'push',
        body,
      });
      if (results?.length !== batch.length)
        throw temporarilyUnavailable(new Error('the answer is no list of results'));
      batch.forEach(({ resolve, reject }, i) => {
        const result = results[i]!;
        if ('error' in result) reject(toError(result));
        else resolve(result);
      });
    } catch (error) {
      if (error instanceof LatchkeyError && REFUSED_AS_A_WHOLE.has(error.status))
        for (const one of batch) await (rejectLate(one, 2 * LONGEST_WAIT_MS) || this.sendAlone(one));
      else for (const { reject } of batch) reject(error);
    }
  }
}

/** @returns whether it has waited too long */
function rejectLate({ since, reject }: Waiting, longestMs: number): boolean {
  if (performance.now() - since < longestMs) return false;
  reject(temporarilyUnavailable());
  return true;
}

function toError({ error, error_description: text }: Exclude<Result, Pushed>): LatchkeyError {
  const description = typeof text === 'string' ? text : '';
  if (error === 'server_error') return temporarilyUnavailable(new Error(description));
  return new LatchkeyError(error, error === 'not_found' ? 404 : 400, description);
}
