import { Reflector } from '@nestjs/core';

export interface Expiry {
  /** Whether removal of this table's rows never waits for other tables. */
  readonly first?: boolean;
  /** For a table without `expires_at`: rows are removed so many days after this column, which is indexed. */
  readonly age?: { readonly column: string; readonly days: 'auditRetentionDays' };
  /** For rows that may be needed after their expiry. */
  readonly unless?: Retention;
}

/** Selects the expired rows that stay, in two equivalent forms. */
export interface Retention {
  /** SQL condition on a row that may be removed. */
  readonly mayGo: string;
  /** The part of `mayGo` that reads no other table. */
  readonly isDue: string;
  /** @param batch name in the `WITH` of the statement @returns a SELECT of the keys of due rows that stay */
  readonly selectRetained: (batch: string) => string;
}

/** Marks an entity: `removal` removes its rows after `expires_at`, which needs an index. */
export const Expires = Reflector.createDecorator<Expiry>();
