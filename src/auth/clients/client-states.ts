import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { Sql } from '../../database/statements/sql.js';
import { OAuthError } from '../../errors/oauth-error.js';
import type { AdapterMemory } from '../../provider/provider-adapter.js';
import type { ClientRequest } from './client-request.js';
import { hashOfState } from '../states/state.service.js';

/** A sign-in for a stock client, while the user is at the provider. */
export interface ClientSignIn {
  readonly provider: string;
  /** Callback of the service at this provider. */
  readonly redirectUri: string;
  readonly memory: AdapterMemory | null;
  readonly client: ClientRequest;
}

/** No verifier matches this challenge: POST /oauth2/token refuses states of this flow. */
const NO_VERIFIER = '-';

const SAVE = {
  name: 'client-state-save',
  text: `
    INSERT INTO authorization_states
      (state_hash, provider, redirect_uri, code_challenge, memory, client_request, expires_at)
    VALUES ($1, $2, $3, '${NO_VERIFIER}', $4, $5, now() + make_interval(secs => $6))`,
};

const CONSUME = {
  name: 'client-state-consume',
  text: `
    WITH spent AS (DELETE FROM authorization_states WHERE state_hash = $1 RETURNING *)
    SELECT provider, redirect_uri AS "redirectUri", memory, client_request AS client, expires_at > now() AS fresh
    FROM spent`,
};

type Row = Omit<ClientSignIn, 'client'> & { readonly client: ClientRequest | null; readonly fresh: boolean };

/** The states of sign-ins for stock clients, in the table of all states (authorization-state.entity.ts). */
@Injectable()
export class ClientStates {
  constructor(
    private readonly sql: Sql,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async save(state: string, { provider, redirectUri, memory, client }: ClientSignIn): Promise<void> {
    await this.sql.query(SAVE, [
      hashOfState(state),
      provider,
      redirectUri,
      memory === null ? null : JSON.stringify(memory),
      JSON.stringify(client),
      this.settings.stateTtl,
    ]);
  }

  /**
   * Deletes a state, and returns its sign-in.
   * @param provider of the callback; each has its own, against mix-up (RFC 9700 §4.4.2.2)
   * @throws OAuthError `invalid_grant` if the state is unknown, used or expired, of another provider or of another flow
   */
  async consume(state: string, provider: string): Promise<ClientSignIn> {
    const [row] = await this.sql.query<Row>(CONSUME, [hashOfState(state)]);
    if (!row?.fresh) throw new OAuthError('invalid_grant', 'state is unknown, used or expired');
    const { client, ...rest } = row;
    if (client === null) throw new OAuthError('invalid_grant', 'state is of another kind of sign-in');
    if (row.provider !== provider) throw new OAuthError('invalid_grant', 'state is of another provider');
    return { ...rest, client };
  }
}
