import type { ChangeSource } from './audit-names.js';

/** How the claims of a user have changed (docs/audit.md#changes-of-claims). 2 KiB of JSON at most. */
export class ClaimChanges {
  source!: ChangeSource;

  /** Claims by name: new values, and of a list the new entries. `…` stands for what is not recorded. */
  added!: Record<string, unknown>;

  /** Claims by name: former values, and of a list the entries that are gone. */
  removed!: Record<string, unknown>;
}
