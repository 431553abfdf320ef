import { Injectable, type Type } from '@nestjs/common';
import type { Origin } from '../audit/audit-event.js';
import type { DpopCall } from '../token/dpop/dpop-proofs.js';
import type { IssuedTokens } from './token.dto.js';

/** A grant, and the path of its first step, for the metadata of the service (RFC 8414 §2). */
export interface GrantMetadata {
  readonly grantType: string;
  readonly endpoint: string;
}

/** A grant of another module at POST /oauth2/token (RFC 6749 §4.5). */
export interface TokenGrant<Params extends object = object> {
  readonly dto: Type<Params>;
  /** Path of the first step. */
  readonly endpoint: string;
  /** @param closed aborted if the client has hung up, which gets no answer then */
  issue(params: Params, call: DpopCall, origin: Origin, closed: AbortSignal): Promise<IssuedTokens>;
}

/** Grants of other modules, by `grant_type`. */
@Injectable()
export class TokenGrants {
  private readonly grants = new Map<string, TokenGrant>();

  add<Params extends object>(grantType: string, grant: TokenGrant<Params>): void {
    this.grants.set(grantType, grant);
  }

  /** @returns the parameters' class; undefined for another `grant_type` */
  dtoOf(grantType: string): Type<object> | undefined {
    return this.grants.get(grantType)?.dto;
  }

  /** @returns the grant of these parameters */
  of(params: object): TokenGrant | undefined {
    return [...this.grants.values()].find(({ dto }) => params instanceof dto);
  }

  get metadata(): readonly GrantMetadata[] {
    return [...this.grants].map(([grantType, { endpoint }]) => ({ grantType, endpoint }));
  }
}
