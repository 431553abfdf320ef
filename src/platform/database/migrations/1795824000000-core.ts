import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The core's schema of the first release; features have migrations of their own. Rows of users are keyed by
 * `user_id` first, so the data can be spread by that column.
 *
 * - `access_tokens` has no foreign keys and one index, since each slows a refresh.
 * - Every `expires_at` has a B-tree. BRIN soon finds nothing: pages of removed rows are written again.
 * - The indexes of `refresh_tokens` are partial: a sign-in writes few of them (OPEN in session.sql.ts).
 * - Pages of `refresh_tokens` have free room, so that a new idle end or last use writes no index (HOT).
 * - `users_with_claims` makes the look at the claims cheap for a user without any, which each refresh has.
 * - Each order of the search for users is that of an index (user-search.ts). Words of names (user-words.ts)
 *   and keys of e-mail addresses (email-address.ts) are compared byte by byte: hence the collation.
 * - Presence is advisory, and instances write it again after a crash: its tables are unlogged.
 */
export class Core1795824000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE users (
        user_id uuid PRIMARY KEY,
        provider text NOT NULL,
        provider_user_id text NOT NULL,
        username text,
        email text,
        avatar_url text,
        created_at timestamptz NOT NULL DEFAULT now(),
        identity jsonb,
        provider_claims jsonb,
        application_claims jsonb,
        claims jsonb,
        claims_version bigint NOT NULL DEFAULT 0,
        claims_changed_at timestamptz,
        email_key text COLLATE "C",
        suspended_at timestamptz,
        removed_at timestamptz,
        sessions_ended_at timestamptz,
        last_seen_at timestamptz DEFAULT now()
      );
      CREATE INDEX users_created_at ON users (created_at, user_id);
      CREATE INDEX users_email_key ON users (email_key, user_id) WHERE email_key IS NOT NULL;
      CREATE INDEX users_provider ON users (provider, created_at, user_id);
      CREATE INDEX users_suspended_at ON users (created_at, user_id) WHERE suspended_at IS NOT NULL;
      CREATE INDEX users_roles ON users USING gin ((claims -> 'roles') jsonb_path_ops)
        WHERE claims -> 'roles' IS NOT NULL;
      CREATE INDEX users_with_claims ON users (user_id, claims_version) WHERE claims_version <> 0;
      CREATE INDEX users_removed_at ON users (removed_at, user_id) WHERE removed_at IS NOT NULL;
      CREATE INDEX users_claims_changed_at ON users (claims_changed_at, user_id) WHERE claims_changed_at IS NOT NULL;

      CREATE TABLE user_words (
        user_id uuid NOT NULL,
        word text COLLATE "C" NOT NULL,
        PRIMARY KEY (word, user_id)
      );
      CREATE INDEX user_words_user_id ON user_words (user_id);

      CREATE TABLE void_claims (
        user_id uuid PRIMARY KEY,
        voided_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX void_claims_voided_at ON void_claims (voided_at, user_id);
      CREATE INDEX void_claims_expires_at ON void_claims (expires_at);

      CREATE TABLE devices (
        user_id uuid NOT NULL,
        device_id uuid NOT NULL,
        device_name text,
        user_agent text,
        address text,
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
        signed_out_at timestamptz,
        begun_at timestamptz,
        jkt bytea,
        provider_subject bytea,
        provider_session bytea,
        id_token bytea,
        last_used_at timestamptz NOT NULL DEFAULT now(),
        auth_time timestamptz,
        address text,
        user_agent text,
        idle_ends_at timestamptz,
        ends_because text,
        PRIMARY KEY (user_id, session_id)
      ) WITH (fillfactor = 85);
      CREATE INDEX refresh_tokens_expires_at ON refresh_tokens (expires_at);
      CREATE INDEX refresh_tokens_signed_out ON refresh_tokens (signed_out_at, session_id)
        WHERE signed_out_at IS NOT NULL;
      CREATE INDEX refresh_tokens_open ON refresh_tokens (user_id, device_id, expires_at)
        WHERE signed_out_at IS NULL AND expires_at > '-infinity';
      CREATE INDEX refresh_tokens_provider_subject ON refresh_tokens (provider_subject)
        WHERE provider_subject IS NOT NULL;
      CREATE INDEX refresh_tokens_provider_session ON refresh_tokens (provider_session)
        WHERE provider_session IS NOT NULL;

      CREATE TABLE access_tokens (
        user_id uuid NOT NULL,
        jti uuid NOT NULL,
        session_id uuid NOT NULL,
        expires_at timestamptz NOT NULL,
        token text NOT NULL,
        PRIMARY KEY (user_id, jti)
      );
      CREATE INDEX access_tokens_expires_at ON access_tokens (expires_at);

      CREATE TABLE authorization_states (
        state_hash bytea PRIMARY KEY,
        provider text NOT NULL,
        redirect_uri text NOT NULL,
        code_challenge text,
        memory jsonb,
        expires_at timestamptz NOT NULL,
        client_request jsonb
      );
      CREATE INDEX authorization_states_expires_at ON authorization_states (expires_at);

      CREATE TABLE authorization_codes (
        code_hash bytea PRIMARY KEY,
        client_id text NOT NULL,
        redirect_uri text NOT NULL,
        code_challenge text NOT NULL,
        user_id uuid NOT NULL,
        provider text NOT NULL,
        identity jsonb NOT NULL,
        requested_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX authorization_codes_expires_at ON authorization_codes (expires_at);
      CREATE INDEX authorization_codes_user_id ON authorization_codes (user_id);

      CREATE TABLE signing_keys (
        kid text PRIMARY KEY,
        public_jwk jsonb NOT NULL,
        encrypted_private_key bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        active_at timestamptz NOT NULL,
        token_ttl integer NOT NULL,
        revoked_at timestamptz
      );

      CREATE TABLE logout_tokens (
        token_hash bytea PRIMARY KEY,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX logout_tokens_expires_at ON logout_tokens (expires_at);

      CREATE TABLE channels (
        user_id uuid PRIMARY KEY,
        last_offset bigint NOT NULL
      );

      CREATE TABLE channel_events (
        user_id uuid NOT NULL,
        event_offset bigint NOT NULL,
        id uuid NOT NULL,
        event text NOT NULL,
        data text NOT NULL,
        device_id uuid,
        sent_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (user_id, event_offset)
      );
      CREATE INDEX channel_events_expires_at ON channel_events (expires_at);

      CREATE TABLE idempotency_keys (
        key_hash bytea PRIMARY KEY,
        body_hash bytea NOT NULL,
        answer text,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);

      CREATE UNLOGGED TABLE instances (
        instance_id uuid PRIMARY KEY,
        seen_at timestamptz NOT NULL
      );

      CREATE UNLOGGED TABLE presence (
        user_id uuid NOT NULL,
        device_id uuid NOT NULL,
        instance_id uuid NOT NULL,
        PRIMARY KEY (user_id, device_id, instance_id)
      );
      CREATE INDEX presence_instance_id ON presence (instance_id);

      CREATE TABLE audit_events (
        user_id uuid NOT NULL,
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        id uuid NOT NULL,
        event text NOT NULL,
        result text NOT NULL,
        error text,
        reason text,
        session_id uuid,
        device_id uuid,
        provider text,
        provider_user_id text,
        address text,
        user_agent text,
        actor_type text NOT NULL,
        actor_name text,
        request_id uuid,
        new_device boolean,
        new_network boolean,
        changes json,
        PRIMARY KEY (user_id, at, id)
      );
      CREATE INDEX audit_events_at ON audit_events (at, id);
      CREATE INDEX audit_events_refused ON audit_events (at, id) WHERE result = 'refused';
      CREATE INDEX audit_events_request ON audit_events (request_id, at) WHERE request_id IS NOT NULL;
      CREATE INDEX audit_events_session ON audit_events (session_id, at) WHERE session_id IS NOT NULL;
      CREATE INDEX audit_events_device ON audit_events (device_id, at) WHERE device_id IS NOT NULL;
      CREATE INDEX audit_events_address ON audit_events (address, at) WHERE address IS NOT NULL;
      CREATE INDEX audit_events_error ON audit_events (error, at) WHERE error IS NOT NULL;
      CREATE INDEX audit_events_new_device ON audit_events (new_device, at) WHERE new_device;
      CREATE INDEX audit_events_new_network ON audit_events (new_network, at) WHERE new_network;
      CREATE INDEX audit_events_removals ON audit_events (user_id) WHERE event = 'user_removed';
      CREATE INDEX audit_events_networks ON audit_events (user_id,
          network(set_masklen(address::inet, CASE family(address::inet) WHEN 4 THEN 24 ELSE 48 END)))
        WHERE event = 'sign_in' AND address IS NOT NULL;

      CREATE TABLE webhooks (
        address_hash bytea PRIMARY KEY,
        position text NOT NULL,
        holder uuid NOT NULL,
        held_until timestamptz NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        failing_since timestamptz,
        retry_at timestamptz,
        paused_at timestamptz
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE webhooks, audit_events, presence, instances, idempotency_keys, channel_events, channels,
        logout_tokens, signing_keys, authorization_codes, authorization_states, access_tokens,
        refresh_tokens, devices, void_claims, user_words, users;
    `);
  }
}
