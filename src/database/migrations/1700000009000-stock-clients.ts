import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sign-in for stock OAuth clients (contract §4): what such a client asked for, and the codes that it is given. */
export class StockClients1700000009000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE authorization_states ADD COLUMN client_request jsonb');
    await runner.query(`
      CREATE TABLE authorization_codes (
        code_hash bytea PRIMARY KEY,
        client_id text NOT NULL,
        redirect_uri text NOT NULL,
        code_challenge text NOT NULL,
        user_id uuid NOT NULL,
        provider text NOT NULL,
        identity jsonb NOT NULL,
        asked_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE INDEX authorization_codes_expires_at ON authorization_codes (expires_at)');
    await runner.query('CREATE INDEX authorization_codes_user_id ON authorization_codes (user_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE authorization_codes');
    await runner.query('ALTER TABLE authorization_states DROP COLUMN client_request');
  }
}
