import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a session is bound to: a key of its client (`jkt`, contract §5), and what its provider calls it, so that the provider can
 * end it (§6). `logout_tokens` are those that providers have sent.
 */
export class BoundSessions1700000007000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE refresh_tokens
        ADD COLUMN jkt bytea,
        ADD COLUMN provider_subject bytea,
        ADD COLUMN provider_session bytea`);
    await runner.query(`
      CREATE TABLE logout_tokens (
        token_hash bytea PRIMARY KEY,
        expires_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE INDEX logout_tokens_expires_at ON logout_tokens (expires_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE logout_tokens');
    await runner.query(`
      ALTER TABLE refresh_tokens DROP COLUMN jkt, DROP COLUMN provider_subject, DROP COLUMN provider_session`);
  }
}
