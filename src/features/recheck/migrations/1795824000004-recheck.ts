import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tables of the first release. */
export class Recheck1795824000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE provider_checks (
        user_id uuid PRIMARY KEY,
        provider text NOT NULL,
        refresh_token bytea NOT NULL,
        subject bytea,
        signed_in_at timestamptz NOT NULL DEFAULT now(),
        checked_at timestamptz NOT NULL DEFAULT now(),
        due_at timestamptz,
        lease uuid,
        failing_since timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        ends_at timestamptz,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX provider_checks_due ON provider_checks (provider, due_at) WHERE due_at IS NOT NULL;
      CREATE INDEX provider_checks_ends_at ON provider_checks (ends_at) WHERE ends_at IS NOT NULL;
      CREATE INDEX provider_checks_expires_at ON provider_checks (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE provider_checks');
  }
}
