import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The user whom the identity of a former user belongs to, and sessions that have begun by it. */
export class MergedUsers1796000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_events ADD COLUMN former_user_id uuid');
    await runner.query('ALTER TABLE users ADD COLUMN merged_into uuid');
    await runner.query('ALTER TABLE refresh_tokens ADD COLUMN joined_identity_id uuid');
    await runner.query('CREATE INDEX users_merged_into ON users (merged_into) WHERE merged_into IS NOT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_events DROP COLUMN former_user_id');
    await runner.query('ALTER TABLE users DROP COLUMN merged_into');
    await runner.query('ALTER TABLE refresh_tokens DROP COLUMN joined_identity_id');
  }
}
