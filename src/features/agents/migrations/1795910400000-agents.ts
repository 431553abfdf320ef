import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tables of programs of third parties. */
export class Agents1795910400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agent_assertions (
        id_hash bytea PRIMARY KEY,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX agent_assertions_expires_at ON agent_assertions (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE agent_assertions');
  }
}
