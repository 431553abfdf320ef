import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tables of the first release. */
export class Scim1795824000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
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

      CREATE TABLE directory_links (
        user_id uuid PRIMARY KEY,
        directory_user_id uuid NOT NULL
      );
      CREATE INDEX directory_links_directory_user_id ON directory_links (directory_user_id);

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

      CREATE TABLE directory_activity (
        provider text PRIMARY KEY,
        requested_at timestamptz NOT NULL,
        request text NOT NULL,
        failed_at timestamptz,
        failure jsonb
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE directory_activity, directory_tasks, directory_states, directory_sources, directory_links,
        directory_members, directory_groups, directory_former_names, directory_users;
    `);
  }
}
