import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Programs of third parties: consents, codes, devices, and used assertions. */
export class Agents1795910400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agent_assertions (
        id_hash bytea PRIMARY KEY,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX agent_assertions_expires_at ON agent_assertions (expires_at);

      CREATE TABLE agent_requests (
        id_hash bytea PRIMARY KEY,
        browser_hash bytea NOT NULL,
        client_id text NOT NULL,
        client_name text NOT NULL,
        authentication jsonb NOT NULL,
        redirect_uri text NOT NULL,
        state text,
        code_challenge text NOT NULL,
        resource text NOT NULL,
        scope text NOT NULL,
        passed jsonb NOT NULL,
        device_id uuid NOT NULL,
        user_id uuid,
        provider text,
        identity jsonb,
        requested_at timestamptz,
        browser jsonb,
        code_hash bytea,
        expires_at timestamptz NOT NULL
      );
      CREATE UNIQUE INDEX agent_requests_code_hash ON agent_requests (code_hash) WHERE code_hash IS NOT NULL;
      CREATE INDEX agent_requests_user_id ON agent_requests (user_id) WHERE user_id IS NOT NULL;
      CREATE INDEX agent_requests_expires_at ON agent_requests (expires_at);

      CREATE TABLE agent_devices (
        user_id uuid NOT NULL,
        device_id uuid NOT NULL,
        session_id uuid NOT NULL,
        client_id text NOT NULL,
        client_name text NOT NULL,
        resource text NOT NULL,
        scope text NOT NULL,
        authentication jsonb NOT NULL,
        provider text,
        refused_at timestamptz,
        allowed_at timestamptz NOT NULL,
        ends_at timestamptz NOT NULL,
        PRIMARY KEY (user_id, device_id)
      );
      CREATE INDEX agent_devices_client ON agent_devices (client_id, resource);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE agent_assertions, agent_devices, agent_requests');
  }
}
