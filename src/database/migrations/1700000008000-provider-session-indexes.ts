import type { MigrationInterface, QueryRunner } from 'typeorm';

/** By which a provider's logout finds its sessions. Only sessions of providers that can send one have an entry. */
export class ProviderSessionIndexes1700000008000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS refresh_tokens_provider_subject');
    await runner.query(`
      CREATE INDEX CONCURRENTLY refresh_tokens_provider_subject ON refresh_tokens (provider_subject)
        WHERE provider_subject IS NOT NULL`);
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS refresh_tokens_provider_session');
    await runner.query(`
      CREATE INDEX CONCURRENTLY refresh_tokens_provider_session ON refresh_tokens (provider_session)
        WHERE provider_session IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX refresh_tokens_provider_subject, refresh_tokens_provider_session');
  }
}
