import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tables of the first release. */
export class DeviceGrant1795824000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE device_requests (
        id uuid PRIMARY KEY,
        device_code_hash bytea NOT NULL,
        user_code_hash bytea NOT NULL,
        client_id text NOT NULL,
        device_id uuid,
        device_name text,
        user_agent text,
        address text,
        network bytea NOT NULL,
        number smallint,
        hinted_user_id uuid,
        state text NOT NULL DEFAULT 'open',
        user_id uuid,
        approved_by uuid,
        provider text,
        identity jsonb,
        requested_at timestamptz,
        poll_interval integer NOT NULL,
        polled_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        codes_expire_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE UNIQUE INDEX device_requests_device_code_hash ON device_requests (device_code_hash);
      CREATE UNIQUE INDEX device_requests_user_code_hash ON device_requests (user_code_hash);
      CREATE INDEX device_requests_hinted_user_id ON device_requests (hinted_user_id) WHERE hinted_user_id IS NOT NULL;
      CREATE INDEX device_requests_user_id ON device_requests (user_id) WHERE user_id IS NOT NULL;
      CREATE INDEX device_requests_expires_at ON device_requests (expires_at);

      CREATE TABLE device_confirmations (
        secret_hash bytea PRIMARY KEY,
        request_id uuid NOT NULL,
        provider text NOT NULL,
        identity jsonb NOT NULL,
        requested_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX device_confirmations_expires_at ON device_confirmations (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE device_confirmations, device_requests');
  }
}
