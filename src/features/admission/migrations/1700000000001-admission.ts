import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tables of the first release. */
export class Admission1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE admission_claims (
        user_id uuid PRIMARY KEY,
        claims jsonb NOT NULL
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE admission_claims');
  }
}
