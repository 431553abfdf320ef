import {
  All,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Req,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import type { Request } from 'express';
import { Public } from '../../../platform/http/access.js';
import { UuidPipe } from '../../../platform/http/parameters/uuid.js';
import { allowedMethods } from '../../../platform/http/server/route-table.js';
import type { Body } from '../resources/resource-rows.js';
import { ScimResources } from '../resources/scim-resources.js';
import { CallingDirectory, DirectoryGuard, type Directory } from './directory.guard.js';
import { listOf, readPage, type Query as Parameters } from './list-query.js';
import { ScimAnswer } from './scim-answer.js';
import { ScimBody } from './scim-body.js';
import { noResource, ScimError, ScimErrorFilter } from './scim-error.js';
import { resourceTypesOf, schemasOf, serviceProviderConfigOf } from './schemas.js';

const ALL = ['Users', 'Groups'];
const ONE = ALL.map((name) => `${name}/:id`);
const Id = () => Param('id', new UuidPipe(noResource));

interface List {
  readonly totalResults: number;
  readonly Resources: readonly object[];
}

/**
 * The interface of a directory (docs/directory.md).
 * @internal SCIM describes itself
 */
@Public()
@UseGuards(DirectoryGuard)
@UseInterceptors(ScimAnswer)
@UseFilters(ScimErrorFilter)
@Controller('scim/v2/:provider')
export class ScimController {
  constructor(private readonly resources: ScimResources) {}

  @Get(ALL)
  list(@CallingDirectory() directory: Directory, @Query() query: Parameters): Promise<object> {
    return this.resources.list(directory, query);
  }

  @Get(ONE)
  find(
    @CallingDirectory() directory: Directory,
    @Id() id: string,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.resources.find(directory, id, query);
  }

  @Post(ALL)
  @HttpCode(201)
  create(
    @CallingDirectory() directory: Directory,
    @ScimBody() body: Body,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.resources.create(directory, body, query);
  }

  @Put(ONE)
  replace(
    @CallingDirectory() directory: Directory,
    @Id() id: string,
    @ScimBody() body: Body,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.resources.replace(directory, id, body, query);
  }

  @Patch('Users/:id')
  patchUser(
    @CallingDirectory() directory: Directory,
    @Id() id: string,
    @ScimBody() body: Body,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.resources.patchUser(directory, id, body, query);
  }

  @Patch('Groups/:id')
  @HttpCode(204)
  patchGroup(
    @CallingDirectory() directory: Directory,
    @Id() id: string,
    @ScimBody('change') body: Body,
  ): Promise<void> {
    return this.resources.patchGroup(directory, id, body);
  }

  @Delete(ONE)
  @HttpCode(204)
  remove(@CallingDirectory() directory: Directory, @Id() id: string): Promise<void> {
    return this.resources.remove(directory, id);
  }

  /** Searches by POST (RFC 7644 §3.4.3): the parameters of a list, in a body. */
  @Post(ALL.map((name) => `${name}/.search`))
  @HttpCode(200)
  searchOne(@CallingDirectory() directory: Directory, @ScimBody('search') body: Parameters): Promise<object> {
    return this.resources.list(directory, toQuery(body));
  }

  /** Users, then groups; an attribute that one of them has not matches none of these. */
  @Post('.search')
  @HttpCode(200)
  async search(
    @CallingDirectory() directory: Directory,
    @ScimBody('search') body: Parameters,
  ): Promise<object> {
    const query = toQuery(body);
    const { startIndex, count } = readPage(query);
    const [ofUsers, ofGroups] = (['User', 'Group'] as const).map((kind) => ({ ...directory, kind }));
    const users = await matching(() => this.resources.list(ofUsers!, query));
    const found = users?.Resources ?? [];
    const before = users?.totalResults ?? 0;
    // A short page of users (MOST_CHARACTERS) is followed by the other users.
    const left = startIndex + found.length > before ? count - found.length : 0;
    const rest = { ...query, startIndex: String(Math.max(1, startIndex - before)), count: String(left) };
    const groups = await matching(() => this.resources.list(ofGroups!, rest));
    if (!users && !groups) return this.resources.list(ofUsers!, query); // answers why
    const total = before + (groups?.totalResults ?? 0);
    return listOf([...found, ...(groups?.Resources ?? [])], total, startIndex);
  }

  /** What the interface can do (RFC 7644 §4). */
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
    return findNamed(resourceTypesOf(base), id);
  }

  @Get('Schemas')
  schemas(@CallingDirectory() { base }: Directory): object {
    const all = schemasOf(base);
    return listOf(all, all.length, 1);
  }

  @Get('Schemas/:id')
  schema(@CallingDirectory() { base }: Directory, @Param('id') id: string): object {
    return findNamed(schemasOf(base), id);
  }

  /** The answer to all paths that the interface has not. */
  @All('*path')
  nothing(@Req() request: Request): never {
    const methods = allowedMethods(request);
    if (methods.length === 0) throw noResource();
    throw new ScimError(405, 'this path has other methods', undefined, { Allow: methods.join(', ') });
  }
}

/** Returns undefined if the resources have no attribute of the filter. */
async function matching(list: () => Promise<object>): Promise<List | undefined> {
  try {
    return (await list()) as List;
  } catch (error) {
    if (error instanceof ScimError && error.scimType === 'invalidFilter') return undefined;
    throw error;
  }
}

/** Returns a body as the query of a list would have it. */
function toQuery(body: Parameters): Parameters {
  const texts = Object.entries(body).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    const isPlain = typeof value === 'string' || typeof value === 'number';
    return [[name, Array.isArray(value) ? value.join(',') : isPlain ? String(value) : ''] as const];
  });
  return Object.fromEntries(texts);
}

function findNamed<Resource extends { readonly id: string }>(all: readonly Resource[], id: string): Resource {
  const one = all.find((resource) => resource.id === id);
  if (!one) throw noResource();
  return one;
}
