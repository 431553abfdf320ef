import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The schema of the first release. Rows of users are keyed by `user_id` first, so the data can be spread by
 * that column.
 *
 * - `access_tokens` has no foreign keys and one index, since each slows a refresh.
 * - Every `expires_at` has a B-tree. BRIN soon finds nothing: pages of removed rows are written again.
 * - The indexes of `refresh_tokens` are partial, so that a sign-in writes few of them (OPEN in
 *   session.sql.ts).
 * - Pages of `refresh_tokens` have free room, so that a new idle end or last use writes no index (HOT).
 * - `users_with_claims` makes the look at the claims cheap for a user without any, which each refresh has.
 * - Each order of the search for users is that of an index (user-search.ts). Words of names, and
 *   keys of e-mail addresses (search-key.ts), are compared byte by byte: hence the collation.
 * - Presence is advisory, and instances write it again after a crash: its tables are unlogged.
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
        created_at timestamptz NOT NULL DEFAULT now(),
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

      CREATE TABLE provider_checks (
        user_id uuid PRIMARY KEY,
        provider text NOT NULL,
        refresh_token bytea NOT NULL,
        subject bytea,
        signed_in_at timestamptz NOT NULL DEFAULT now(),
        checked_at timestamptz NOT NULL DEFAULT now(),
        due_at timestamptz,
        lease uuid,
        failing_since timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        ends_at timestamptz,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX provider_checks_due ON provider_checks (provider, due_at) WHERE due_at IS NOT NULL;
      CREATE INDEX provider_checks_ends_at ON provider_checks (ends_at) WHERE ends_at IS NOT NULL;
      CREATE INDEX provider_checks_expires_at ON provider_checks (expires_at);

      CREATE TABLE admission_claims (
        user_id uuid PRIMARY KEY,
        claims jsonb NOT NULL
      );

      CREATE TABLE sample_codes (
        code_hash bytea PRIMARY KEY,
        client_id text NOT NULL,
        redirect_uri text NOT NULL,
        code_challenge text,
        provider_user_id text NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX sample_codes_expires_at ON sample_codes (expires_at);

      CREATE TABLE directory_users (
        id uuid PRIMARY KEY,
        provider text NOT NULL,
        user_name text NOT NULL,
        user_name_key text NOT NULL,
        external_id text,
        display_name_key text,
        email_keys text[] NOT NULL,
        active boolean NOT NULL,
        resource jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        activated_at timestamptz NOT NULL DEFAULT now(),
        changed_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX directory_users_user_name ON directory_users (provider, user_name_key);
      CREATE UNIQUE INDEX directory_users_external_id ON directory_users (provider, external_id)
        WHERE external_id IS NOT NULL;
      CREATE INDEX directory_users_created_at ON directory_users (provider, created_at, id);
      CREATE INDEX directory_users_email_keys ON directory_users USING gin (email_keys);

      CREATE TABLE directory_former_names (
        provider text NOT NULL,
        name text NOT NULL,
        directory_user_id uuid NOT NULL,
        PRIMARY KEY (provider, name)
      );

      CREATE TABLE directory_groups (
        id uuid PRIMARY KEY,
        provider text NOT NULL,
        display_name text NOT NULL,
        display_name_key text NOT NULL,
        external_id text,
        member_count integer NOT NULL DEFAULT 0,
        removed boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now(),
        changed_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX directory_groups_external_id ON directory_groups (provider, external_id)
        WHERE external_id IS NOT NULL AND NOT removed;
      CREATE INDEX directory_groups_display_name ON directory_groups (provider, display_name_key);
      CREATE INDEX directory_groups_created_at ON directory_groups (provider, created_at, id);

      CREATE TABLE directory_members (
        group_id uuid NOT NULL,
        user_id uuid NOT NULL,
        removed boolean NOT NULL DEFAULT false,
        PRIMARY KEY (group_id, user_id)
      );
      CREATE INDEX directory_members_user_id ON directory_members (user_id);

      CREATE TABLE directory_names (
        user_id uuid PRIMARY KEY,
        provider text NOT NULL,
        name text NOT NULL,
        name_key text NOT NULL,
        directory_user_id uuid,
        facts jsonb,
        named_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX directory_names_name ON directory_names (provider, name);
      CREATE INDEX directory_names_name_key ON directory_names (provider, name_key);
      CREATE INDEX directory_names_directory_user_id ON directory_names (directory_user_id)
        WHERE directory_user_id IS NOT NULL;

      CREATE TABLE directory_sources (
        provider text NOT NULL,
        claim text NOT NULL,
        PRIMARY KEY (provider, claim)
      );

      CREATE TABLE directory_states (
        user_id uuid PRIMARY KEY,
        active boolean NOT NULL,
        changed_at timestamptz NOT NULL,
        created_at timestamptz NOT NULL
      );
      CREATE INDEX directory_states_newest ON directory_states (active, created_at, user_id);

      CREATE TABLE directory_tasks (
        id uuid PRIMARY KEY,
        provider text NOT NULL,
        kind text NOT NULL,
        subject text NOT NULL,
        after uuid,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX directory_tasks_created_at ON directory_tasks (created_at);

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

      CREATE TABLE device_session_facts (
        user_id uuid NOT NULL,
        session_id uuid NOT NULL,
        facts jsonb NOT NULL,
        approved_by uuid,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (user_id, session_id)
      );
      CREATE INDEX device_session_facts_expires_at ON device_session_facts (expires_at);

      CREATE TABLE directory_activity (
        provider text PRIMARY KEY,
        requested_at timestamptz NOT NULL,
        request text NOT NULL,
        failed_at timestamptz,
        failure jsonb
      );

      CREATE TABLE signal_subjects (
        user_id uuid PRIMARY KEY,
        provider text NOT NULL,
        subject bytea NOT NULL,
        claims_at timestamptz
      );
      CREATE INDEX signal_subjects_subject ON signal_subjects (subject);

      CREATE TABLE signal_accounts (
        subject bytea PRIMARY KEY,
        disabled boolean NOT NULL,
        changed_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX signal_accounts_expires_at ON signal_accounts (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE admission_claims, signal_accounts, signal_subjects, device_session_facts, device_confirmations, device_requests, directory_activity, directory_tasks, directory_states, directory_sources, directory_names, directory_members, directory_groups,
        directory_former_names, directory_users, provider_checks, webhooks, audit_events, sample_codes, presence, instances, idempotency_keys, channel_events, channels, logout_tokens, signing_keys,
        authorization_codes, authorization_states, access_tokens, refresh_tokens, devices, void_claims, user_words, users;
    `);
  }
}
