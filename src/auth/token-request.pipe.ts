import { Injectable, type PipeTransform } from '@nestjs/common';
import { ParametersPipe } from '../http/parameters.pipe.js';
import { grantOf } from './grant.js';
import { RefreshDto } from './refresh.dto.js';
import { TokenDto } from './token.dto.js';

/** Body of POST /oauth2/token: which parameters it has depends on what is asked for. */
@Injectable()
export class TokenRequestPipe implements PipeTransform {
  private readonly parameters = new ParametersPipe();

  transform(body: unknown): TokenDto | RefreshDto {
    const metatype = grantOf(body) === 'refresh_token' ? RefreshDto : TokenDto;
    return this.parameters.transform(body, { type: 'body', metatype }) as TokenDto | RefreshDto;
  }
}
