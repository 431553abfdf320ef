import {
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { UuidPipe } from '../../../platform/http/parameters/uuid.js';
import { Public } from '../../../platform/http/access.js';
import { CallingDirectory, DirectoryGuard, type Directory } from '../protocol/directory.guard.js';
import type { Query as Parameters } from '../protocol/list-query.js';
import { ScimAnswer } from '../protocol/scim-answer.js';
import { ScimBody } from '../protocol/scim-body.js';
import { noResource, ScimErrorFilter } from '../protocol/scim-error.js';
import { ScimGroups } from './scim-groups.service.js';

const idPipe = new UuidPipe(noResource);

type Body = Readonly<Record<string, unknown>>;

/**
 * Groups of a directory (docs/directory.md).
 * @internal SCIM describes itself
 */
@Public()
@UseGuards(DirectoryGuard)
@UseInterceptors(ScimAnswer)
@UseFilters(ScimErrorFilter)
@Controller('scim/v2/:provider/Groups')
export class ScimGroupsController {
  constructor(private readonly groups: ScimGroups) {}

  @Get()
  list(@CallingDirectory() directory: Directory, @Query() query: Parameters): Promise<object> {
    return this.groups.list(directory, query);
  }

  @Get(':id')
  find(
    @CallingDirectory() directory: Directory,
    @Param('id', idPipe) id: string,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.groups.find(directory, id, query);
  }

  @Post()
  @HttpCode(201)
  create(
    @CallingDirectory() directory: Directory,
    @ScimBody('group') body: Body,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.groups.create(directory, body, query);
  }

  @Put(':id')
  replace(
    @CallingDirectory() directory: Directory,
    @Param('id', idPipe) id: string,
    @ScimBody('group') body: Body,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.groups.replace(directory, id, body, query);
  }

  /** Without the group as the answer: it may have 50,000 members. */
  @Patch(':id')
  @HttpCode(204)
  patch(
    @CallingDirectory() directory: Directory,
    @Param('id', idPipe) id: string,
    @ScimBody('change') body: Body,
  ): Promise<void> {
    return this.groups.patch(directory, id, body);
  }

  @Delete(':id')
  @HttpCode(204)
  remove(@CallingDirectory() directory: Directory, @Param('id', idPipe) id: string): Promise<void> {
    return this.groups.remove(directory, id);
  }
}
