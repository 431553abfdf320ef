import { Injectable } from '@nestjs/common';
import type { PlainElement } from '../../platform/database/batching.js';
import { REFRESH_ON_CITUS, REFUSAL_ON_CITUS } from '../refresh/refresh.sql.js';
import { AccessTokenStore, type RefusedRow } from './access-token.store.js';

/** Parameters of REFUSAL_ON_CITUS, the first ones. */
const CHECKED = 5;

/** Stores access tokens on Citus: each refresh is a batch of its own (Sql.batched). */
@Injectable()
export class CitusAccessTokenStore extends AccessTokenStore {
  protected override async store([row]: readonly PlainElement[][]): Promise<RefusedRow[]> {
    const stored = await this.sql.query(REFRESH_ON_CITUS, row!);
    if (stored.length > 0) return [];
    const refused = await this.sql.query<RefusedRow>(REFUSAL_ON_CITUS, row!.slice(0, CHECKED));
    return refused.length > 0 ? refused : [{ place: 1, refusal: 'session', tokenHash: null, jkt: null }];
  }
}
