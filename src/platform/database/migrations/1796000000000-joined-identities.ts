import type { MigrationInterface, QueryRunner } from 'typeorm';

// One migration for each table: see docs/development.md#migrations.

/** The user whom the identity of a former user belongs to. */
export class MergedUsers1796000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE users ADD COLUMN merged_into uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE users DROP COLUMN merged_into');
  }
}

export class MergedUsersIndex1796000000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS users_merged_into');
    await runner.query(
      'CREATE INDEX CONCURRENTLY users_merged_into ON users (merged_into) WHERE merged_into IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX users_merged_into');
  }
}

/** The identity by which a session has begun, if it is one that the user has joined. */
export class JoinedSessions1796000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE refresh_tokens ADD COLUMN joined_identity_id uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE refresh_tokens DROP COLUMN joined_identity_id');
  }
}

/** The user who has become part of another one. */
export class FormerUsers1796000000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_events ADD COLUMN former_user_id uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_events DROP COLUMN former_user_id');
  }
}
