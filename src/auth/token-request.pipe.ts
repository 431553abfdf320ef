import { Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { ParametersPipe } from '../http/parameters.pipe.js';
import { ClientTokenDto } from './clients/client-token.dto.js';
import { grantOf, type Grant } from './grant.js';
import { TokenDto, RefreshDto } from './token.dto.js';

export type TokenRequest = TokenDto | ClientTokenDto | RefreshDto;

const PARAMETERS: Readonly<Record<Grant, Type<TokenRequest>>> = {
  authorization_code: TokenDto,
  own_code: ClientTokenDto,
  refresh_token: RefreshDto,
};

/** Body of POST /oauth2/token: which parameters it has depends on what is asked for. */
@Injectable()
export class TokenRequestPipe implements PipeTransform {
  private readonly parameters = new ParametersPipe();

  transform(body: unknown): TokenRequest {
    return this.parameters.transform(body, {
      type: 'body',
      metatype: PARAMETERS[grantOf(body)],
    }) as TokenRequest;
  }
}
