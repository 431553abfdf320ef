import { Reflector } from '@nestjs/core';

export interface Expiry {
  /** Whether they are removed before those of the other tables. */
  readonly first?: boolean;
  /** SQL condition on a row: nothing needs it any more. For tables whose rows may be needed beyond their expiry. */
  readonly mayGo?: string;
}

/** Stands on an entity: rows whose `expires_at` is over are removed, by the room `removal`. The column needs an index. */
export const Expires = Reflector.createDecorator<Expiry>();
