import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Index of the sessions of a user, by device, that are not signed out: the limit of a sign-in, sign-outs and the list of devices
 * read no other rows. See OPEN in session.sql.ts for the second condition.
 */
export class OpenSessionIndex1700000011000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS refresh_tokens_open');
    await runner.query(`
      CREATE INDEX CONCURRENTLY refresh_tokens_open ON refresh_tokens (user_id, device_id, expires_at)
        WHERE signed_out_at IS NULL AND expires_at > '-infinity'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX refresh_tokens_open');
  }
}
