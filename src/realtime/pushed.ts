import { Expose } from 'class-transformer';

/** What became of a push (contract §4). */
export class Pushed {
  /** The event's own id: a UUID. */
  @Expose()
  id!: string;

  /** The event's number in the user's history; null with a `ttl` of 0. */
  @Expose()
  offset!: number | null;

  /** Whether the target has an open socket on some instance; advisory. */
  @Expose()
  online!: boolean;
}
