import { All, Controller, Get, Param, Req, UseFilters, UseGuards, UseInterceptors } from '@nestjs/common';
import type { Request } from 'express';
import { allowedMethods } from '../../../platform/http/server/route-table.js';
import { Public } from '../../../platform/http/access.js';
import { CallingDirectory, DirectoryGuard, type Directory } from './directory.guard.js';
import { listOf } from './list-query.js';
import { ScimAnswer } from './scim-answer.js';
import { resourceTypesOf, schemasOf, serviceProviderConfigOf } from './schemas.js';
import { noResource, ScimError, ScimErrorFilter } from './scim-error.js';

/**
 * What the interface can do (RFC 7644 §4), and the answer to all paths that it has not.
 * @internal SCIM describes itself
 */
@Public()
@UseGuards(DirectoryGuard)
@UseInterceptors(ScimAnswer)
@UseFilters(ScimErrorFilter)
@Controller('scim/v2/:provider')
export class DiscoveryController {
  @Get('ServiceProviderConfig')
  config(@CallingDirectory() { base }: Directory): object {
    return serviceProviderConfigOf(base);
  }

  @Get('ResourceTypes')
  resourceTypes(@CallingDirectory() { base }: Directory): object {
    const all = resourceTypesOf(base);
    return listOf(all, all.length, 1);
  }

  @Get('ResourceTypes/:id')
  resourceType(@CallingDirectory() { base }: Directory, @Param('id') id: string): object {
    return found(resourceTypesOf(base), id);
  }

  @Get('Schemas')
  schemas(@CallingDirectory() { base }: Directory): object {
    const all = schemasOf(base);
    return listOf(all, all.length, 1);
  }

  @Get('Schemas/:id')
  schema(@CallingDirectory() { base }: Directory, @Param('id') id: string): object {
    return found(schemasOf(base), id);
  }

  @All('*path')
  nothing(@Req() request: Request): never {
    const methods = allowedMethods(request);
    if (methods.length === 0) throw noResource();
    throw new ScimError(405, 'this path has other methods', undefined, { Allow: methods.join(', ') });
  }
}

function found<Resource extends { readonly id: string }>(all: readonly Resource[], id: string): Resource {
  const one = all.find((resource) => resource.id === id);
  if (!one) throw noResource();
  return one;
}
