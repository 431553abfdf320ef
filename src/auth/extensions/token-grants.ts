import { Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { Origin } from '../../audit/audit-event.js';
import { decorated, type Decorated } from '../../platform/decorated.js';
import type { DpopCall } from '../../token/dpop/dpop-proofs.js';
import type { DelegatedTokens, IssuedTokens } from '../token.dto.js';

/** A grant, for the metadata of the service (RFC 8414 §2). */
export interface GrantMetadata {
  readonly grantType: string;
  /** Path of its first step, if that is at this service. */
  readonly endpoint?: string;
}

/** Request of a grant, besides its parameters. */
export interface GrantCall {
  readonly dpop: DpopCall;
  readonly origin: Origin;
  /** Header of the client's authentication (RFC 6749 §2.3.1). */
  readonly authorization: string | undefined;
  /** Aborted if the client has hung up, which gets no answer then. */
  readonly closed: AbortSignal;
}

/**
 * A feature's grant at POST /oauth2/token (RFC 6749 §4.5): a provider with the decorator of the same name.
 */
export interface TokenGrant<Params extends object = object> {
  issue(params: Params, call: GrantCall): Promise<IssuedTokens | DelegatedTokens>;
  /** @returns further members of the service's metadata (RFC 8414 §2) */
  metadata?(): object;
}

type GrantType = { readonly dto: Type<object> } & (
  | GrantMetadata
  /** Of the service's own grants, the codes or refresh tokens that begin so. */
  | { readonly prefix: string }
);

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
    return this.grants.find(({ said }) => 'grantType' in said && said.grantType === grantType)?.said.dto;
  }

  /** @returns the parameters' class for a code or a refresh token of a feature */
  dtoFor(credential: unknown): Type<object> | undefined {
    if (typeof credential !== 'string') return undefined;
    return this.grants.find(({ said }) => 'prefix' in said && credential.startsWith(said.prefix))?.said.dto;
  }

  of(params: object): TokenGrant | undefined {
    return this.grants.find(({ said }) => params instanceof said.dto)?.instance;
  }

  /** @returns members of the service's metadata of all features */
  get members(): object {
    return Object.assign({}, ...this.grants.map(({ instance }) => instance.metadata?.())) as object;
  }

  get metadata(): readonly GrantMetadata[] {
    return this.grants.flatMap(({ said }) => ('grantType' in said ? said : []));
  }
}
