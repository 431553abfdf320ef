import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Each sign-out says which transaction wrote it, so that one that was under way at the last look is found by its number,
 * however long its commit took (token/ended-sessions.store.ts).
 */
export class SignOutTransactions1700000005000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE refresh_tokens ADD COLUMN signed_out_xid bigint');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE refresh_tokens DROP COLUMN signed_out_xid');
  }
}
