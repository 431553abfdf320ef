import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tables of the first release. */
export class ProviderEvents1700000000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE signal_subjects (
        user_id uuid PRIMARY KEY,
        provider text NOT NULL,
        subject bytea NOT NULL,
        claims_at timestamptz
      );
      CREATE INDEX signal_subjects_subject ON signal_subjects (subject);

      CREATE TABLE signal_accounts (
        subject bytea PRIMARY KEY,
        disabled boolean NOT NULL,
        changed_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX signal_accounts_expires_at ON signal_accounts (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE signal_accounts, signal_subjects');
  }
}
