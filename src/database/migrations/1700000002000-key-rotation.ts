import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A key is first used some time after its publication, and its end follows from its successor's first use, so `retired_at`
 * is dropped. How long the tokens of existing keys live is not known: the specification says an hour, and an instance with
 * a longer lifetime updates it at its start.
 */
export class KeyRotation1700000002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE signing_keys
        ADD COLUMN active_at timestamptz,
        ADD COLUMN token_ttl integer,
        ADD COLUMN revoked_at timestamptz,
        DROP COLUMN retired_at;
      UPDATE signing_keys SET active_at = created_at, token_ttl = 3600;
      ALTER TABLE signing_keys ALTER COLUMN active_at SET NOT NULL, ALTER COLUMN token_ttl SET NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM signing_keys WHERE revoked_at IS NOT NULL;
      ALTER TABLE signing_keys
        DROP COLUMN active_at,
        DROP COLUMN token_ttl,
        DROP COLUMN revoked_at,
        ADD COLUMN retired_at timestamptz;
    `);
  }
}
