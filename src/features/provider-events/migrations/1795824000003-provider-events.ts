import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tables of the first release. */
export class ProviderEvents1795824000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE signal_accounts (
        subject bytea PRIMARY KEY,
        disabled boolean NOT NULL,
        user_id uuid,
        changed_at timestamptz NOT NULL,
        claims_at timestamptz,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX signal_accounts_expires_at ON signal_accounts (expires_at);
      CREATE INDEX signal_accounts_user_id ON signal_accounts (user_id) WHERE user_id IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE signal_accounts');
  }
}
