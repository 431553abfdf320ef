import type { BoundedPool } from '../platform/database/pool/bounded-pool.js';
import type { Sql } from '../platform/database/sql.js';
import { errorCode } from '../platform/errors/error-facts.js';

const EVERY_MS = 1000;
/** Without the right to look, the disk counts as full this long after each statement that found it full. */
const FULL_MS = 4000;
// insufficient_privilege, feature_not_supported: no temporary tables here
const CANNOT_LOOK = new Set<unknown>(['42501', '0A000']);

// A full disk may accept small writes in files with room left. This takes a megabyte until its commit.
const TAKE_ROOM = {
  name: 'room-check',
  text: `
    CREATE TEMPORARY TABLE latchkey_room ON COMMIT DROP AS
    SELECT repeat('x', 1000) AS room FROM generate_series(1, 1000)`,
};

/** The disk of the database counts as full once a statement has found it so, until there is room again. */
export class DiskRoom {
  constructor(
    private readonly sql: Sql,
    private readonly pool: Pick<BoundedPool, 'diskFullAt'>,
  ) {}

  get isFull(): boolean {
    return this.pool.diskFullAt !== -Infinity;
  }

  /** @throws while the disk is full */
  async check(): Promise<void> {
    const { diskFullAt } = this.pool;
    if (this.isFullFor(EVERY_MS)) throw full();
    try {
      await this.sql.query(TAKE_ROOM, []); // of no table of ours
    } catch (error) {
      if (!CANNOT_LOOK.has(errorCode(error))) throw this.pool.diskFullAt === diskFullAt ? error : full(error);
      if (this.isFullFor(FULL_MS)) throw full();
    }
    if (this.pool.diskFullAt === diskFullAt) this.pool.diskFullAt = -Infinity;
  }

  private isFullFor(ms: number): boolean {
    return performance.now() - this.pool.diskFullAt < ms;
  }
}

/** Without the code, by which Readiness knows a slow moment. */
function full(cause?: unknown): Error {
  return new Error('the disk of the database is full', { cause });
}
