import { OptionalText } from './parameter.js';

const CURSOR = /^(\d{1,16})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Place of a row in a list sorted by a time, then by an id; the time in microseconds since the epoch. */
export interface Place {
  readonly place: string;
  readonly id: string;
}

export function OptionalCursor(): PropertyDecorator {
  return OptionalText({ matches: { pattern: CURSOR, as: 'the next_cursor of an answer' } });
}

export class CursorDto {
  /** `next_cursor` of the page before; left out: the first page. */
  @OptionalCursor()
  cursor?: string;
}

/** @returns undefined for the first page */
export function parseCursor(cursor = ''): Place | undefined {
  const [, place, id] = CURSOR.exec(cursor) ?? [];
  return place === undefined || id === undefined ? undefined : { place, id };
}

export function formatCursor({ place, id }: Place): string {
  return `${place}-${id}`;
}
