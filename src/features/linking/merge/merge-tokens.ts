import { Injectable } from '@nestjs/common';
import { StateService } from '../../../auth/states/state.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../../platform/events.js';
import type { NewIdentity } from '../identities/joined-identities.store.js';

/** As StateService knows it: no other flow, and no other session, can spend it. */
const keyOf = ({ userId, sessionId }: SessionIds, token: string): string =>
  `merge ${userId} ${sessionId} ${token}`;

/** Tokens for one merge, each for one session; they expire as states do. */
@Injectable()
export class MergeTokens {
  constructor(private readonly states: StateService) {}

  async make(caller: SessionIds, joined: NewIdentity): Promise<string> {
    const token = this.states.make();
    const { provider, ...memory } = joined;
    const pending = { provider, redirectUri: '', codeChallenge: null, memory, clientRequest: null };
    await this.states.save(keyOf(caller, token), pending);
    return token;
  }

  /** @throws OAuthError `invalid_grant` */
  async spend(caller: SessionIds, token: string): Promise<NewIdentity> {
    const spent = await this.states.spend(keyOf(caller, token));
    if (!spent) throw new OAuthError('invalid_grant', 'merge_token is unknown, used or expired');
    return { provider: spent.provider, ...spent.memory } as NewIdentity;
  }
}
