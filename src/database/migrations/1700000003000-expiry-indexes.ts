import type { MigrationInterface, QueryRunner } from 'typeorm';

/** For the removal of what has expired. */
export class ExpiryIndexes1700000003000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX access_tokens_expires_at ON access_tokens (expires_at);
      CREATE INDEX refresh_tokens_expires_at ON refresh_tokens (expires_at);
      CREATE INDEX authorization_states_expires_at ON authorization_states (expires_at);
      CREATE INDEX sample_codes_expires_at ON sample_codes (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX access_tokens_expires_at, refresh_tokens_expires_at, authorization_states_expires_at,
        sample_codes_expires_at;
    `);
  }
}
