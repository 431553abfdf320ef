import { Controller, Get, Param } from '@nestjs/common';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { Requires } from '../../../platform/http/access.js';
import type { Synchronisation } from './synchronisation.dto.js';
import { Synchronisations } from './synchronisations.js';

/** The directory of a provider, as support people see it. */
@Requires('support')
@Controller('admin/providers/:name/directory')
export class SynchronisationController {
  constructor(private readonly synchronisations: Synchronisations) {}

  /**
   * Synchronisation with the directory of a provider
   *
   * At most three seconds old.
   *
   * @returns The last request, the numbers of users and groups, and the last error.
   * @throws OAuthError `not_found`
   */
  @Get()
  async synchronisation(@Param('name') name: string): Promise<Synchronisation> {
    const found = await this.synchronisations.find(name);
    if (!found) throw new OAuthError('not_found', 'this provider has no directory');
    return found;
  }
}
