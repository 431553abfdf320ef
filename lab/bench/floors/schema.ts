export const FLOOR_SCHEMA = `
  CREATE SCHEMA floor;
  CREATE TABLE floor.users (
    user_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    provider text NOT NULL,
    provider_user_id text NOT NULL,
    username text,
    email text,
    avatar_url text,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (provider, provider_user_id)
  );
  CREATE TABLE floor.devices (
    user_id uuid NOT NULL,
    device_id uuid NOT NULL,
    device_name text,
    user_agent text,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, device_id)
  );
  CREATE TABLE floor.refresh_tokens (
    token_hash bytea PRIMARY KEY,
    user_id uuid NOT NULL,
    session_id uuid NOT NULL,
    device_id uuid,
    jkt bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
  );
  CREATE TABLE floor.access_tokens (
    user_id uuid NOT NULL,
    jti uuid NOT NULL,
    session_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    token text NOT NULL,
    PRIMARY KEY (user_id, jti)
  );
  CREATE TABLE floor.authorization_states (
    state_hash bytea PRIMARY KEY,
    provider text NOT NULL,
    redirect_uri text NOT NULL,
    expires_at timestamptz NOT NULL
  );
`;
