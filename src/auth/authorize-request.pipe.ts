import { Injectable, type PipeTransform } from '@nestjs/common';
import type { Request } from 'express';
import { ParametersPipe } from '../http/parameters.pipe.js';
import { AuthorizeDto } from './authorize.dto.js';
import { ClientAuthorizeDto } from './clients/client-authorize.dto.js';

/** Query of GET /oauth2/authorize: a client of the specification sends no `response_type`, every other one does (contract §4). */
@Injectable()
export class AuthorizeRequestPipe implements PipeTransform {
  private readonly parameters = new ParametersPipe();

  transform(query: unknown): AuthorizeDto | ClientAuthorizeDto {
    const metatype = hasResponseType(query) ? ClientAuthorizeDto : AuthorizeDto;
    return this.parameters.transform(query, { type: 'query', metatype }) as AuthorizeDto | ClientAuthorizeDto;
  }
}

/** Whether a request is one of a stock client's. */
export function isOfStockClient({ query }: Request): boolean {
  return hasResponseType(query);
}

/** An empty one counts as left out (RFC 6749 §3.1). */
function hasResponseType(query: unknown): boolean {
  const { response_type: given } = query as { readonly response_type?: unknown };
  return given !== undefined && given !== '';
}
