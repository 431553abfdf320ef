-- What an application sees of Supabase's database, and its own table.
CREATE SCHEMA auth;
CREATE TABLE auth.users (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  email text,
  encrypted_password text,
  raw_app_meta_data jsonb NOT NULL DEFAULT '{}',
  raw_user_meta_data jsonb NOT NULL DEFAULT '{}',
  is_anonymous boolean NOT NULL DEFAULT false
);
CREATE TABLE auth.identities (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  provider_id text NOT NULL,
  user_id uuid NOT NULL REFERENCES auth.users ON DELETE CASCADE,
  identity_data jsonb NOT NULL,
  provider text NOT NULL,
  UNIQUE (provider_id, provider)
);
CREATE FUNCTION auth.jwt() RETURNS jsonb STABLE LANGUAGE sql AS $$
  SELECT nullif(current_setting('request.jwt.claims', true), '')::jsonb
$$;
CREATE FUNCTION auth.uid() RETURNS uuid STABLE LANGUAGE sql AS $$ SELECT (auth.jwt() ->> 'sub')::uuid $$;
DO $$ BEGIN
  CREATE ROLE authenticated;
EXCEPTION WHEN duplicate_object THEN
END $$;
GRANT USAGE ON SCHEMA auth TO authenticated;

CREATE TABLE public.notes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id uuid NOT NULL DEFAULT auth.uid() REFERENCES auth.users,
  text text NOT NULL
);
GRANT SELECT, INSERT ON public.notes TO authenticated;
ALTER TABLE public.notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON public.notes TO authenticated USING (user_id = auth.uid()) WITH CHECK (user_id = auth.uid());
CREATE POLICY auditors ON public.notes FOR SELECT TO authenticated
  USING (auth.jwt() -> 'app_metadata' -> 'roles' ? 'auditor');
