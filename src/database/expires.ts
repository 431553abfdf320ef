import { Reflector } from '@nestjs/core';

export interface Expiry {
  /** Whether they are removed without waiting for those of other tables. */
  readonly first?: boolean;
  /** SQL condition on a row that may be removed. For tables whose rows may be needed beyond their expiry. */
  readonly mayGo?: string;
}

/** Marks an entity: the room `removal` removes its rows once `expires_at` is past. The column needs an index. */
export const Expires = Reflector.createDecorator<Expiry>();
