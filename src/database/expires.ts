import { Reflector } from '@nestjs/core';

export interface Expiry {
  /** Whether they are removed without waiting for those of other tables. */
  readonly first?: boolean;
  /** For tables whose rows may be needed beyond their expiry. */
  readonly unless?: Retention;
}

/** Which expired rows of a table stay, in two forms with the same meaning. */
export interface Retention {
  /** SQL condition on a row that may be removed. */
  readonly mayGo: string;
  /** The part of `mayGo` that reads no other table. */
  readonly isDue: string;
  /** @param batch name of a member of the same `WITH`; @returns a SELECT of the keys of its due rows that must stay */
  readonly keptOf: (batch: string) => string;
}

/** Marks an entity: the room `removal` removes its rows once `expires_at` is past. The column needs an index. */
export const Expires = Reflector.createDecorator<Expiry>();
