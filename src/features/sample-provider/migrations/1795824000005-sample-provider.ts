import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tables of the first release. */
export class SampleProvider1795824000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE sample_codes (
        code_hash bytea PRIMARY KEY,
        client_id text NOT NULL,
        redirect_uri text NOT NULL,
        code_challenge text,
        provider_user_id text NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX sample_codes_expires_at ON sample_codes (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE sample_codes');
  }
}
