import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Index of the sessions of a user, by device, that are not signed out: a sign-out, a sign-in's limit and the list of devices
 * read no other rows. The column `expires_at` excludes expired sessions of a device.
 */
export class LivingSessionIndex1700000011000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS refresh_tokens_living');
    await runner.query(`
      CREATE INDEX CONCURRENTLY refresh_tokens_living ON refresh_tokens (user_id, device_id, expires_at)
        WHERE signed_out_at IS NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX refresh_tokens_living');
  }
}
