import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Signing out ends a session by its expiry (spec §2.2) and marks it. The index holds signed-out sessions only: a sign-in
 * does not write to it, and every instance reads its newest entries twice a second.
 */
export class SignedOutSessions1700000001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE refresh_tokens ADD COLUMN signed_out_at timestamptz;
      CREATE INDEX refresh_tokens_signed_out ON refresh_tokens (signed_out_at, session_id) WHERE signed_out_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX refresh_tokens_signed_out;
      ALTER TABLE refresh_tokens DROP COLUMN signed_out_at;
    `);
  }
}
