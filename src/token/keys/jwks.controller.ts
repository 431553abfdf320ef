import { Controller, Get, Header } from '@nestjs/common';
import { Public } from '../../platform/http/access.js';
import { KeyRing, type JwkSet } from './key-ring.js';

@Public()
@Controller()
export class JwksController {
  constructor(private readonly keys: KeyRing) {}

  /**
   * The public keys that verify access tokens
   *
   * RFC 7517. A key is published at least ten minutes before its first use.
   *
   * @returns Newest first.
   */
  @Get('.well-known/jwks.json')
  @Header('Cache-Control', 'public, max-age=300')
  jwks(): JwkSet {
    return this.keys.jwks;
  }
}
