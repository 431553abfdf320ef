import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The indexes by which sign-outs are found: by the number of their transaction, and, where they have none, by time. Rows
 * without a number are of an older version, or written by hand: their index is empty otherwise, and costs a sign-out nothing.
 */
export class SignOutIndexes1700000006000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS refresh_tokens_signed_out_xid');
    await runner.query(`
      CREATE INDEX CONCURRENTLY refresh_tokens_signed_out_xid ON refresh_tokens (signed_out_xid, signed_out_at)
        WHERE signed_out_xid IS NOT NULL`);
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS refresh_tokens_signed_out_without_xid');
    await runner.query(`
      CREATE INDEX CONCURRENTLY refresh_tokens_signed_out_without_xid ON refresh_tokens (signed_out_at)
        WHERE signed_out_at IS NOT NULL AND signed_out_xid IS NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX refresh_tokens_signed_out_xid, refresh_tokens_signed_out_without_xid');
  }
}
