import { Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { Origin } from '../../audit/audit-event.js';
import { decorated, type Decorated } from '../../platform/decorated.js';
import type { DpopCall } from '../../token/dpop/dpop-proofs.js';
import type { IssuedTokens } from '../token.dto.js';

/** A grant, and the path of its first step, for the metadata of the service (RFC 8414 §2). */
export interface GrantMetadata {
  readonly grantType: string;
  readonly endpoint: string;
}

/**
 * A feature's grant at POST /oauth2/token (RFC 6749 §4.5): a provider with the decorator of the same name.
 */
export interface TokenGrant<Params extends object = object> {
  /** @param closed aborted if the client has hung up, which gets no answer then */
  issue(params: Params, call: DpopCall, origin: Origin, closed: AbortSignal): Promise<IssuedTokens>;
}

interface GrantType extends GrantMetadata {
  readonly dto: Type<object>;
}

export const TokenGrant = DiscoveryService.createDecorator<GrantType>();

@Injectable()
export class TokenGrants implements OnModuleInit {
  private grants: readonly Decorated<GrantType, TokenGrant>[] = [];

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    this.grants = decorated(this.discovery, TokenGrant);
  }

  /** @returns the parameters' class; undefined for another `grant_type` */
  dtoOf(grantType: string): Type<object> | undefined {
    return this.grants.find(({ said }) => said.grantType === grantType)?.said.dto;
  }

  of(params: object): TokenGrant | undefined {
    return this.grants.find(({ said }) => params instanceof said.dto)?.instance;
  }

  get metadata(): readonly GrantMetadata[] {
    return this.grants.map(({ said }) => said);
  }
}
