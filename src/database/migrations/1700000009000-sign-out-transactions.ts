import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Each sign-out says which transaction wrote it, so that one that was under way at the last look is found by its number,
 * however long its commit took (token/ended-sessions.ts). Rows without a number are of an older version, or written by hand:
 * their index is empty otherwise, and costs a sign-out nothing.
 */
export class SignOutTransactions1700000009000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE refresh_tokens ADD COLUMN signed_out_xid bigint;
      CREATE INDEX refresh_tokens_signed_out_xid ON refresh_tokens (signed_out_xid, signed_out_at)
        WHERE signed_out_xid IS NOT NULL;
      CREATE INDEX refresh_tokens_signed_out_without_xid ON refresh_tokens (signed_out_at)
        WHERE signed_out_at IS NOT NULL AND signed_out_xid IS NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX refresh_tokens_signed_out_xid, refresh_tokens_signed_out_without_xid;
      ALTER TABLE refresh_tokens DROP COLUMN signed_out_xid;
    `);
  }
}
