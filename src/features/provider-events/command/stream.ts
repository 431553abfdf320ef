import { isObject } from '../../../platform/http/parameters/json.js';
import { PUSH } from '../verify/transmitter.js';

/** Of transmitters from before SSF 1.0. */
const FORMER_PUSH = 'https://schemas.openid.net/secevent/risc/delivery-method/push';

/** Configuration of a stream at the transmitter (SSF 1.0 §8.1.1), as far as this service uses it. */
export interface Stream {
  readonly id: string;
  readonly method: string | undefined;
  readonly endpoint: string | undefined;
  readonly audience: readonly string[];
  readonly requested: readonly string[];
  /** Undefined: the transmitter does not say. */
  readonly delivered: readonly string[] | undefined;
}

/** What the service asks of a stream. */
export interface Wanted {
  readonly endpoint: string;
  readonly events: readonly string[];
}

/** Reads the answer of the configuration endpoint: a list of streams, or one. @throws if it is neither */
export function readStreams(body: unknown): readonly Stream[] {
  const all: readonly unknown[] = Array.isArray(body) ? body : [body];
  return all.map(readStream);
}

function readStream(body: unknown): Stream {
  if (!isObject(body) || typeof body['stream_id'] !== 'string') {
    throw new Error('the transmitter answered with something that is not a stream');
  }
  const delivery = isObject(body['delivery']) ? body['delivery'] : {};
  const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return {
    id: body['stream_id'],
    method: textOf(delivery['method']),
    endpoint: textOf(delivery['endpoint_url']),
    audience: textsIn(body['aud']),
    requested: textsIn(body['events_requested']),
    delivered: body['events_delivered'] === undefined ? undefined : textsIn(body['events_delivered']),
  };
}

/** Whether a stream needs no update. */
export function isCurrent({ method, endpoint, requested }: Stream, wanted: Wanted): boolean {
  const isPushed = method === PUSH || method === FORMER_PUSH;
  const isComplete = wanted.events.every((event) => requested.includes(event));
  return isPushed && endpoint === wanted.endpoint && isComplete;
}

/** What a receiver may write of a stream (SSF 1.0 §8.1.1). */
export function toConfiguration({ endpoint, events }: Wanted): Readonly<Record<string, unknown>> {
  return { delivery: { method: PUSH, endpoint_url: endpoint }, events_requested: events };
}

function textsIn(value: unknown): readonly string[] {
  return [value].flat().filter((one) => typeof one === 'string');
}
