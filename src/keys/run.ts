import type { DataSource } from 'typeorm';
import type { Settings } from '../config/settings/settings.js';
import { Sql } from '../database/statements/sql.js';
import { KeyStore, type NewKey, KeyReader } from '../token/keys/key.store.js';
import type { Command } from './arguments.js';
import { jsonReport, tableReport } from './report.js';
import { oldSecretKey } from '../config/settings/load-settings.js';

/**
 * Does what a command says.
 * @returns what to tell the operator; never a secret.
 */
export async function run(command: Command, settings: Settings, dataSource: DataSource): Promise<string> {
  if (command.name === 'list') {
    const keys = await new KeyReader(new Sql(dataSource)).list();
    return command.json ? jsonReport(keys) : tableReport(keys);
  }
  const store = new KeyStore(dataSource, settings);
  if (command.name === 'reencrypt') return reencrypted(await store.reencrypt(oldSecretKey()));
  return command.name === 'rotate'
    ? rotated(await store.rotate())
    : revoked(command.kid, await store.revoke(command.kid));
}

function rotated({ made, kid, activeAt }: Awaited<ReturnType<KeyStore['rotate']>>): string {
  const key = `key ${kid} is published, and signs from ${activeAt.toISOString()} on`;
  return made ? `Done: ${key}.\n` : `Nothing to do: ${key}.\n`;
}

function revoked(kid: string, successor: NewKey | undefined): string {
  const instead = successor ? ` Key ${successor.kid} signs instead.` : '';
  return `Revoked key ${kid}: within a second its tokens are refused.${instead}\n`;
}

function reencrypted(count: number): string {
  if (count === 0) return 'Nothing to do: the keys are encrypted with this SECRET_KEY already.\n';
  return `Encrypted ${count} ${count === 1 ? 'key' : 'keys'} anew. Restart the service with the new SECRET_KEY now.\n`;
}
