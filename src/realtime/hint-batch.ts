import type { ChannelEvent } from '../events.js';
import { hintOf, isUuid, objectOf, type Reach } from './hint.js';

/** A hint as it is written: with its event, or only how far the history reaches. One of the two may be missing. */
export interface Parcel {
  readonly whole?: string;
  readonly reach?: string;
}

/** What one message says; `hints` are those that were understood. */
export interface HintBatch {
  /** The instance that says it. */
  readonly from: string;
  readonly hints: readonly (ChannelEvent | Reach)[];
  /** Whether something in it was not understood. */
  readonly isDoubtful: boolean;
}

/** @param largest UTF-8 bytes: a stored event that is larger is read from the history, and so travels only as its place */
export function parcelOf(hint: ChannelEvent | Reach, largest: number): Parcel {
  const { userId, offset } = hint;
  const reach = offset === null ? {} : { reach: JSON.stringify([userId, offset]) };
  if (!('id' in hint)) return reach;
  const { id, deviceId, event, data, sentAt } = hint;
  const whole = JSON.stringify([userId, offset, id, deviceId, event, data, sentAt]); // without names: room is short
  return offset !== null && Buffer.byteLength(whole) > largest ? reach : { whole, ...reach };
}

/**
 * Fills one message with the first of the parcels: as many as there is room for if every stored event goes only as its place.
 * What room is left then is for the events themselves, the smallest first: each one spares its receiver a query.
 *
 * @param room UTF-8 bytes for the parcels and the commas between them; each parcel alone fits in
 * @returns the texts of those that fit, in their order: at least one
 */
export function pack(parcels: readonly Parcel[], room: number): string[] {
  let left = room;
  const texts: string[] = [];
  for (const { whole, reach } of parcels) {
    const text = (reach ?? whole)!;
    const size = sizeOf(text);
    if (size > left) break;
    left -= size;
    texts.push(text);
  }
  const larger = texts.flatMap((text, i) => {
    const { whole } = parcels[i]!;
    return whole === undefined || whole === text ? [] : [{ i, whole, more: sizeOf(whole) - sizeOf(text) }];
  });
  for (const { i, whole, more } of larger.toSorted((one, other) => one.more - other.more)) {
    if (more > left) break;
    left -= more;
    texts[i] = whole;
  }
  return texts;
}

/** The message of packed hints, to be sealed. */
export function batchOf(from: string, texts: readonly string[]): string {
  return `{"from":"${from}","hints":[${texts.join(',')}]}`;
}

/** Reads such a message. Never throws, and trusts nothing: an instance of another version may write anything. */
export function parseBatch(json: string): HintBatch | undefined {
  const { from, hints: items } = objectOf(json) ?? {};
  if (!isUuid(from) || !Array.isArray(items)) return undefined;
  const hints = items.map(itemOf).filter((hint) => hint !== undefined);
  return { from, hints, isDoubtful: hints.length < items.length };
}

function itemOf(item: unknown): ChannelEvent | Reach | undefined {
  if (!Array.isArray(item)) return undefined;
  const [userId, offset, id, deviceId, event, data, sentAt] = item as unknown[];
  if (item.length === 2) return hintOf({ userId, offset });
  return item.length === 7 ? hintOf({ userId, offset, id, deviceId, event, data, sentAt }) : undefined;
}

/** With its comma. */
function sizeOf(text: string): number {
  return Buffer.byteLength(text) + 1;
}
