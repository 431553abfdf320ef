import { hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, Raw } from 'typeorm';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Sql } from '../../platform/database/sql.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { AuthorizationState } from './authorization-state.entity.js';

/** A state of ours: 256 bits as hex. */
export const STATE = /^[0-9a-f]{64}$/i;

/**
 * State of a test sign-in, as StateService knows it: so the other flows cannot spend it, and it cannot spend
 * theirs.
 */
export function testState(state: string): string {
  return `test ${state}`;
}

export function hashState(state: string): Buffer {
  return hash('sha256', state, 'buffer');
}

export type PendingSignIn = Pick<
  AuthorizationState,
  'provider' | 'redirectUri' | 'codeChallenge' | 'memory' | 'clientRequest'
>;

export type SpentSignIn = PendingSignIn & {
  /** Before the provider is asked: milliseconds, by the database's clock. */
  readonly requestedAt: number;
};

const SPENT = `provider, redirect_uri AS "redirectUri", code_challenge AS "codeChallenge", memory,
      client_request AS "clientRequest", expires_at > now() AS fresh,
      (extract(epoch FROM now()) * 1000)::float8 AS "requestedAt"`;

// Raw: both are on the hot path, and batched.
const SAVE = {
  name: 'states-save',
  text: `
    INSERT INTO authorization_states
      (state_hash, provider, redirect_uri, code_challenge, memory, client_request, expires_at)
    SELECT *, now() + make_interval(secs => $7)
    FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::jsonb[])`,
};

// Deleting spends the state: of all exchanges that race for it, one gets the row (spec §2.3: used only once).
// Rows are locked in the order of their hashes, so that statements of several instances cannot wait for each
// other.
const CONSUME = {
  name: 'states-consume',
  text: `
    WITH locked AS (
      SELECT state_hash FROM authorization_states WHERE state_hash = ANY ($1::bytea[])
      ORDER BY state_hash FOR UPDATE
    )
    DELETE FROM authorization_states AS s USING locked WHERE s.state_hash = locked.state_hash
    RETURNING encode(s.state_hash, 'hex') AS hash, ${SPENT}`,
};

// A distributed database locks rows of one node only.
const CONSUME_ONE = {
  name: 'state-consume',
  text: `
    WITH spent AS (DELETE FROM authorization_states WHERE state_hash = $1 RETURNING *)
    SELECT encode(state_hash, 'hex') AS hash, ${SPENT} FROM spent`,
};

type Spent = SpentSignIn & { readonly hash: string; readonly fresh: boolean };

@Injectable()
export class StateService {
  private readonly saveBatched: (row: unknown[]) => Promise<void>;
  private readonly spendBatched: (stateHash: Buffer) => Promise<SpentSignIn | undefined>;

  constructor(
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    // After a timeout a state may still be saved or spent: the sign-in begins anew.
    this.saveBatched = sql.batched('state-save', (rows: unknown[][]) => this.saveEach(rows));
    this.spendBatched = sql.batched('state-consume', (hashes: Buffer[]) => this.spendEach(hashes));
  }

  make(): string {
    return randomBytes(32).toString('hex');
  }

  async save(state: string, signIn: PendingSignIn): Promise<void> {
    const { provider, redirectUri, codeChallenge, memory, clientRequest } = signIn;
    const json = [memory, clientRequest].map((value) => value && JSON.stringify(value));
    await this.saveBatched([hashState(state), provider, redirectUri, codeChallenge, ...json]);
  }

  /**
   * Deletes a state, and returns its sign-in.
   * @throws OAuthError `invalid_grant` if it is unknown, used or expired
   */
  async consume(state: string): Promise<SpentSignIn> {
    const signIn = await this.spend(state);
    if (!signIn) throw new OAuthError('invalid_grant', 'state is unknown, used or expired');
    return signIn;
  }

  /**
   * Returns the sign-in of a state without spending it, or undefined if the state is unknown, used or
   * expired.
   */
  async peek(state: string): Promise<PendingSignIn | undefined> {
    const expiresAt = Raw((column) => `${column} > now()`);
    const found = { stateHash: hashState(state), expiresAt };
    return (await this.dataSource.manager.findOneBy(AuthorizationState, found)) ?? undefined;
  }

  /** Deletes a state. @returns its sign-in; undefined if the state is unknown, used or expired */
  spend(state: string): Promise<SpentSignIn | undefined> {
    return this.spendBatched(hashState(state));
  }

  private async saveEach(rows: unknown[][]): Promise<void[]> {
    const columns = rows[0]!.map((_, column) => rows.map((row) => row[column]));
    await this.sql.query(SAVE, [...columns, this.settings.stateTtl]);
    return rows.map(() => undefined);
  }

  private async spendEach(hashes: Buffer[]): Promise<(SpentSignIn | undefined)[]> {
    const [statement, values] = hashes.length === 1 ? [CONSUME_ONE, hashes] : [CONSUME, [hashes]];
    const rows = await this.sql.query<Spent>(statement, values);
    const unspent = new Map(rows.filter(({ fresh }) => fresh).map((row) => [row.hash, row]));
    return hashes.map((stateHash) => {
      const key = stateHash.toString('hex');
      const row = unspent.get(key);
      unspent.delete(key); // a state twice in one batch: the first call gets it
      return row;
    });
  }
}
