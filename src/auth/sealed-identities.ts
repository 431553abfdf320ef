import { Injectable } from '@nestjs/common';
import type { Identity } from '../provider/identity/identity.js';
import { IdTokens } from '../token/sessions/id-tokens.js';
import type { Verified } from './extensions/sign-in-steps.js';

/** Columns that hold a Verified. */
export interface SealedIdentity {
  readonly provider: string;
  readonly identity: object;
  readonly requestedAt: Date;
}

/** Identities that wait for their session; the provider's tokens are encrypted, as in a session. */
@Injectable()
export class SealedIdentities {
  constructor(private readonly idTokens: IdTokens) {}

  /** @param owner of the row, and of no other one */
  seal({ provider, identity, requestedAt }: Verified, owner: string): SealedIdentity {
    const seal = (token: string | null) => this.idTokens.encrypt(token, owner)?.toString('base64') ?? null;
    const tokens = { idToken: seal(identity.idToken), refreshToken: seal(identity.refreshToken) };
    return { provider, identity: { ...identity, ...tokens }, requestedAt: new Date(requestedAt) };
  }

  open(stored: SealedIdentity, owner: string): Verified {
    const identity = stored.identity as Identity;
    const open = (sealed: string | null) =>
      this.idTokens.decrypt(sealed === null ? null : Buffer.from(sealed, 'base64'), owner);
    const tokens = { idToken: open(identity.idToken), refreshToken: open(identity.refreshToken) };
    const { provider, requestedAt } = stored;
    return { provider, identity: { ...identity, ...tokens }, requestedAt: requestedAt.getTime() };
  }
}
