import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { Sql } from '../database/sql.js';
import { OAuthError } from '../errors/oauth-error.js';
import type { AdapterMemory } from '../provider/provider-adapter.js';

/** What a state stands for, see authorization-state.entity.ts. */
export interface PendingSignIn {
  readonly provider: string;
  readonly redirectUri: string;
  readonly redirectUriNamed: boolean;
  readonly codeChallenge: string | null;
  readonly memory: AdapterMemory | null;
}

const SAVE = {
  name: 'state-save',
  text: `
    INSERT INTO authorization_states
      (state_hash, provider, redirect_uri, redirect_uri_named, code_challenge, memory, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))`,
};

// Deleting is spending: of any number of exchanges that race, one gets the row (spec §2.3: used only once).
const CONSUME = {
  name: 'state-consume',
  text: `
    DELETE FROM authorization_states WHERE state_hash = $1
    RETURNING provider, redirect_uri AS "redirectUri", redirect_uri_named AS "redirectUriNamed",
      code_challenge AS "codeChallenge", memory, expires_at > now() AS fresh`,
};

@Injectable()
export class StateService {
  constructor(
    private readonly sql: Sql,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** A new state: 256 random bits as 64 hex characters (contract §4). */
  make(): string {
    return randomBytes(32).toString('hex');
  }

  async save(state: string, signIn: PendingSignIn): Promise<void> {
    const { provider, redirectUri, redirectUriNamed, codeChallenge, memory } = signIn;
    const memoryJson = memory === null ? null : JSON.stringify(memory);
    await this.sql.query(SAVE, [
      hash(state),
      provider,
      redirectUri,
      redirectUriNamed,
      codeChallenge,
      memoryJson,
      this.settings.stateTtl,
    ]);
  }

  /**
   * Spends a state: whatever happens afterwards, it is gone.
   * @throws OAuthError `invalid_grant` when it is unknown, used or expired.
   */
  async consume(state: string): Promise<PendingSignIn> {
    const [row] = await this.sql.query<PendingSignIn & { fresh: boolean }>(CONSUME, [hash(state)]);
    if (!row?.fresh) throw new OAuthError('invalid_grant', 'state is unknown, used or expired');
    return row;
  }
}

function hash(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}
