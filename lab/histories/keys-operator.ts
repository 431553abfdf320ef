import { keysCommand } from '../../test/support/keys-command.js';
import type { Shared } from './client.js';

/** Changes signing keys with the command that operators use. */
export class KeysOperator {
  /** @param databaseUrl of the primary that there is at the moment */
  constructor(
    private readonly shared: Pick<Shared, 'ledger' | 'recorder'>,
    private readonly databaseUrl: () => string,
  ) {}

  async rotate(): Promise<void> {
    await this.change('rotate', undefined);
  }

  /** Withdraws the key that has signed the newest session's token. */
  async revoke(): Promise<void> {
    const newest = this.shared.ledger.sessions.at(-1);
    if (newest) await this.change('revoke', newest.token.name.kid);
  }

  private async change(change: 'rotate' | 'revoke', kid: string | undefined): Promise<void> {
    const args = [change, ...(kid === undefined ? [] : [kid])];
    const begun = performance.now();
    const { code } = await keysCommand({ DATABASE_URL: this.databaseUrl() }, ...args);
    this.shared.recorder.record({
      kind: 'key',
      client: 'operator',
      instance: -1,
      change,
      ...(kid !== undefined && { kid }),
      begun,
      ended: performance.now(),
      outcome: code === 0 ? 'ok' : 'unknown',
    });
  }
}
