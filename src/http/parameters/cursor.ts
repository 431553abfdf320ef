import { OptionalText } from './parameter.js';

/** Place of a row as text. */
const CURSOR = /^(\d{1,16})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Place of a row in a list that is sorted by a time, then by an id; the time in microseconds since the epoch. */
export interface Place {
  readonly place: string;
  readonly id: string;
}

/** Query of a list: `next_cursor` of the page before, or nothing. */
export function OptionalCursor(): PropertyDecorator {
  return OptionalText({ matches: { pattern: CURSOR, as: 'the next_cursor of an answer' } });
}

/** @returns undefined for the first page */
export function placeIn(cursor = ''): Place | undefined {
  const [, place, id] = CURSOR.exec(cursor) ?? [];
  return place === undefined || id === undefined ? undefined : { place, id };
}

export function cursorOf({ place, id }: Place): string {
  return `${place}-${id}`;
}

/** SQL: the microseconds of a time, exactly. */
export function placeOf(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000000)::bigint`;
}

/** SQL: the time of a place, exactly up to the year 2255. */
export function timeAt(place: string): string {
  return `('epoch'::timestamptz + ${place}::bigint * interval '1 microsecond')`;
}
