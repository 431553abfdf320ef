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
import { ScimUsers } from './scim-users.service.js';

const idPipe = new UuidPipe(noResource);

type Body = Readonly<Record<string, unknown>>;

/**
 * Users of a directory (docs/directory.md).
 * @internal SCIM describes itself
 */
@Public()
@UseGuards(DirectoryGuard)
@UseInterceptors(ScimAnswer)
@UseFilters(ScimErrorFilter)
@Controller('scim/v2/:provider/Users')
export class ScimUsersController {
  constructor(private readonly users: ScimUsers) {}

  @Get()
  list(@CallingDirectory() directory: Directory, @Query() query: Parameters): Promise<object> {
    return this.users.list(directory, query);
  }

  @Get(':id')
  find(
    @CallingDirectory() directory: Directory,
    @Param('id', idPipe) id: string,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.users.find(directory, id, query);
  }

  @Post()
  @HttpCode(201)
  create(
    @CallingDirectory() directory: Directory,
    @ScimBody('user') body: Body,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.users.create(directory, body, query);
  }

  @Put(':id')
  replace(
    @CallingDirectory() directory: Directory,
    @Param('id', idPipe) id: string,
    @ScimBody('user') body: Body,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.users.replace(directory, id, body, query);
  }

  @Patch(':id')
  patch(
    @CallingDirectory() directory: Directory,
    @Param('id', idPipe) id: string,
    @ScimBody('user') body: Body,
    @Query() query: Parameters,
  ): Promise<object> {
    return this.users.patch(directory, id, body, query);
  }

  @Delete(':id')
  @HttpCode(204)
  remove(@CallingDirectory() directory: Directory, @Param('id', idPipe) id: string): Promise<void> {
    return this.users.remove(directory, id);
  }
}
