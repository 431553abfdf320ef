import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The history of each user's channel, and who is connected where. Presence is advisory and rewritten by its instances,
 * so its tables are unlogged: a crash of the server empties them, and the next heartbeat fills them again.
 */
export class Channels1700000004000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
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
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE presence, instances, idempotency_keys, channel_events, channels;');
  }
}
