import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sessions that have begun by an identity of a user beside their own. */
export class Linking1796000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE joined_sessions (
        user_id uuid NOT NULL,
        session_id uuid NOT NULL,
        identity_id uuid NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (user_id, session_id)
      );
      CREATE INDEX joined_sessions_identity_id ON joined_sessions (identity_id);
      CREATE INDEX joined_sessions_expires_at ON joined_sessions (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE joined_sessions');
  }
}
