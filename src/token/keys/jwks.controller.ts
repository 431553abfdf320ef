import { Controller, Get, Header } from '@nestjs/common';
import { Public } from '../guard/access.js';
import { KeyService, type JwkSet } from './key.service.js';

@Public()
@Controller()
export class JwksController {
  constructor(private readonly keys: KeyService) {}

  /** The public keys that verify access tokens (RFC 7517; RFC 8615 for the path). */
  @Get('.well-known/jwks.json')
  @Header('Cache-Control', 'public, max-age=300')
  jwks(): JwkSet {
    return this.keys.jwks;
  }
}
