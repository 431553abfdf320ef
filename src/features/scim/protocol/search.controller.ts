import { Controller, HttpCode, Post, UseFilters, UseGuards, UseInterceptors } from '@nestjs/common';
import { Public } from '../../../platform/http/access.js';
import { ScimGroups } from '../groups/scim-groups.service.js';
import { ScimUsers } from '../users/scim-users.service.js';
import { CallingDirectory, DirectoryGuard, type Directory } from './directory.guard.js';
import { listOf, readPage, type Query } from './list-query.js';
import { ScimAnswer } from './scim-answer.js';
import { ScimBody } from './scim-body.js';
import { ScimError, ScimErrorFilter } from './scim-error.js';

interface List {
  readonly totalResults: number;
  readonly Resources: readonly object[];
}

/**
 * Searches by POST (RFC 7644 §3.4.3): the parameters of a list, in a body.
 * @internal SCIM describes itself
 */
@Public()
@UseGuards(DirectoryGuard)
@UseInterceptors(ScimAnswer)
@UseFilters(ScimErrorFilter)
@Controller('scim/v2/:provider')
export class SearchController {
  constructor(
    private readonly users: ScimUsers,
    private readonly groups: ScimGroups,
  ) {}

  @Post('Users/.search')
  @HttpCode(200)
  searchUsers(@CallingDirectory() directory: Directory, @ScimBody('search') body: Query): Promise<object> {
    return this.users.list(directory, toQuery(body));
  }

  @Post('Groups/.search')
  @HttpCode(200)
  searchGroups(@CallingDirectory() directory: Directory, @ScimBody('search') body: Query): Promise<object> {
    return this.groups.list(directory, toQuery(body));
  }

  /** Users, then groups; an attribute that one of them has not matches none of these. */
  @Post('.search')
  @HttpCode(200)
  async search(@CallingDirectory() directory: Directory, @ScimBody('search') body: Query): Promise<object> {
    const query = toQuery(body);
    const { startIndex, count } = readPage(query);
    const users = await matching(() => this.users.list(directory, query));
    const found = users?.Resources ?? [];
    const before = users?.totalResults ?? 0;
    // A short page of users (MOST_CHARACTERS) is followed by the other users.
    const left = startIndex + found.length > before ? count - found.length : 0;
    const rest = { ...query, startIndex: String(Math.max(1, startIndex - before)), count: String(left) };
    const groups = await matching(() => this.groups.list(directory, rest));
    if (!users && !groups) return this.users.list(directory, query); // answers why
    const total = before + (groups?.totalResults ?? 0);
    return listOf([...found, ...(groups?.Resources ?? [])], total, startIndex);
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
function toQuery(body: Query): Query {
  const texts = Object.entries(body).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    const isPlain = typeof value === 'string' || typeof value === 'number';
    return [[name, Array.isArray(value) ? value.join(',') : isPlain ? String(value) : ''] as const];
  });
  return Object.fromEntries(texts);
}
