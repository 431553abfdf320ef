import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Res,
  StreamableFile,
} from '@nestjs/common';
import type { Response } from 'express';
import { type Origin, RequestOrigin } from '../../../audit/audit-event.js';
import { HeavyReads } from '../../../platform/database/heavy-reads.js';
import type { DeviceList } from '../../../device/devices.dto.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { CursorDto } from '../../../platform/http/parameters/cursor.js';
import { Requires } from '../../../platform/http/access.js';
import type { SessionList } from '../../../token/sessions/sessions.dto.js';
import { UserCreation } from './user-creation.js';
import { UserDirectory } from './user-directory.js';
import { UserExports } from './user-export.js';
import {
  FoundUserDto,
  NewUserDto,
  RemovedUsersDto,
  SetClaimsDto,
  SuspensionDto,
  toClaimsOfUser,
  toFilter,
  userIdPipe,
  UsersDto,
  UserSignOutDto,
  type ClaimsOfUser,
  type RemovedUserList,
  type UserDetail,
  type UserList,
  type UserSignedOut,
  type UserView,
} from './users.dto.js';
import { UsersService } from './users.service.js';

const PAGE = 50;

/** Users, as the support sees and changes them (docs/endpoints.md#for-your-backend). */
@Requires('support')
@Controller('users')
export class UsersController {
  constructor(
    private readonly directory: UserDirectory,
    private readonly users: UsersService,
    private readonly creation: UserCreation,
    private readonly exports: UserExports,
    private readonly reads: HeavyReads,
  ) {}

  /**
   * Find users
   *
   * Newest first. With `q`: in the order of the word that the fewest users have. A page may then be short,
   * even empty, and not be the last one: only `next_cursor` says so. A search by `role`, `provider` or
   * `suspended` that takes longer than a second is `invalid_request`: narrow it.
   *
   * @returns A page of users.
   * @throws OAuthError `slow_down`
   */
  @Get()
  async listUsers(@Query() query: UsersDto, @RequestOrigin() { actor }: Origin): Promise<UserList> {
    const filter = toFilter(query);
    const limit = Number(query.limit ?? PAGE);
    return this.reads.run(actor, () => this.directory.search(filter, limit, query.cursor));
  }

  /**
   * Create a user before the first sign-in
   *
   * Once the user signs in, name and e-mail address are the provider's, and the claims of the application
   * stay. A user who exists is returned as they are.
   *
   * @returns {201} The new user.
   * @returns {200} The user, who exists: nothing has changed.
   * @throws OAuthError `access_denied`
   */
  @Requires('users')
  @Post()
  async createUser(
    @Body() user: NewUserDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) response: Response,
  ): Promise<UserView> {
    const { userId, isNew } = await this.creation.create(user, origin);
    response.status(isNew ? 201 : 200);
    return this.directory.find(userId);
  }

  /**
   * Removed users whose sign-ins are refused
   *
   * They were suspended when they were removed. Latest removal first, 100 a page. `PATCH /users/:user_id`
   * with `suspended: false` lets one sign in again.
   *
   * @returns A page of ids.
   */
  @Requires('users')
  @Get('removed')
  async removedUsers(@Query() { cursor }: RemovedUsersDto): Promise<RemovedUserList> {
    return this.users.findRemoved(cursor);
  }

  /**
   * A user, with devices and sessions
   *
   * @returns The user.
   * @throws OAuthError `not_found`, `slow_down`
   */
  @Get(':user_id')
  async user(
    @Param('user_id', userIdPipe) userId: string,
    @RequestOrigin() { actor }: Origin,
  ): Promise<UserDetail> {
    return this.reads.run(actor, () => this.directory.findDetail(userId));
  }

  /**
   * Devices of a user
   *
   * Newest use first, 100 a page. A device that is used between two pages moves to the first one.
   *
   * @returns A page of devices.
   * @throws OAuthError `not_found`, `slow_down`
   */
  @Get(':user_id/devices')
  async userDevices(
    @Param('user_id', userIdPipe) userId: string,
    @Query() { cursor }: CursorDto,
    @RequestOrigin() { actor }: Origin,
  ): Promise<DeviceList> {
    return this.reads.run(actor, () => this.directory.findDevices(userId, cursor));
  }

  /**
   * Live sessions of a user
   *
   * Newest use first, 100 a page. A session that is used between two pages moves to the first one.
   *
   * @returns A page of sessions.
   * @throws OAuthError `not_found`, `slow_down`
   */
  @Get(':user_id/sessions')
  async userSessions(
    @Param('user_id', userIdPipe) userId: string,
    @Query() { cursor }: CursorDto,
    @RequestOrigin() { actor }: Origin,
  ): Promise<SessionList> {
    return this.reads.run(actor, () => this.directory.findSessions(userId, cursor));
  }

  /**
   * What is stored of a user, as one file
   *
   * User, claims by source, devices, live sessions, and the newest 10,000 audit events. The parts are read
   * one after the other: what changes meanwhile may be in one part and not in another. A file that breaks off
   * is no JSON; repeat the call.
   *
   * @returns The file `user-<user_id>.json`.
   * @throws OAuthError `not_found`, `slow_down`
   */
  @Get(':user_id/export')
  async exportUser(
    @Param('user_id', userIdPipe) userId: string,
    @RequestOrigin() { actor }: Origin,
  ): Promise<StreamableFile> {
    const disposition = `attachment; filename="user-${userId}.json"`;
    const document = await this.exports.begin(userId, actor);
    return new StreamableFile(document, { type: 'application/json', disposition });
  }

  /**
   * Suspend or restore a user
   *
   * A suspended user has no session, and cannot sign in. If the call fails, repeat it: the user is suspended
   * first, then sessions end. `suspended: false` also lets a removed user sign in again, who was suspended.
   *
   * @returns The user afterwards.
   * @returns {204} The user was removed, and may sign in again.
   * @throws OAuthError `not_found`
   */
  @Requires('users')
  @Patch(':user_id')
  async suspendUser(
    @Param('user_id', userIdPipe) userId: string,
    @Body() { suspended }: SuspensionDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) response: Response,
  ): Promise<UserView | undefined> {
    if (await this.users.suspend(userId, suspended, origin)) return this.directory.find(userId);
    response.status(204);
    return undefined;
  }

  /**
   * Sign a user out and remove them
   *
   * Devices and events are removed as well. A later sign-in creates the user again, with this id; of a
   * suspended user the id alone is kept, and sign-ins stay refused.
   *
   * @returns Removed.
   * @throws OAuthError `not_found`
   */
  @Requires('users')
  @Delete(':user_id')
  @HttpCode(204)
  async removeUser(
    @Param('user_id', userIdPipe) userId: string,
    @RequestOrigin() origin: Origin,
  ): Promise<void> {
    await this.users.remove(userId, origin);
  }

  /**
   * Sign a user out, everywhere or from one device or session
   *
   * @returns Signed out.
   * @throws OAuthError `not_found`
   */
  @Post(':user_id/sign-out')
  @HttpCode(200)
  async signOutUser(
    @Param('user_id', userIdPipe) userId: string,
    @Body() { device_id: deviceId, session_id: sessionId }: UserSignOutDto,
    @RequestOrigin() origin: Origin,
  ): Promise<UserSignedOut> {
    if (deviceId !== undefined && sessionId !== undefined) {
      throw new OAuthError('invalid_request', 'device_id and session_id exclude each other');
    }
    return { sessions: await this.users.signOut(userId, origin, { deviceId, sessionId }) };
  }

  /**
   * Sign out a user by the provider’s id or the e-mail address
   *
   * An e-mail address that no user has, or more than one, is `invalid_request`.
   *
   * @returns Signed out.
   * @throws OAuthError `not_found`, `slow_down`
   */
  @Post('sign-out')
  @HttpCode(200)
  async signOutFoundUser(
    @Body() { provider, provider_user_id: id, email }: FoundUserDto,
    @RequestOrigin() origin: Origin,
  ): Promise<UserSignedOut> {
    const isPair = provider !== undefined && id !== undefined;
    const isAddress = email !== undefined && provider === undefined && id === undefined;
    if (isPair && email === undefined) {
      return { sessions: await this.users.signOut(await this.directory.findId(provider, id), origin) };
    }
    if (isAddress) {
      const userId = await this.reads.run(origin.actor, () => this.directory.findIdByEmail(email));
      return { sessions: await this.users.signOut(userId, origin) };
    }
    throw new OAuthError('invalid_request', 'give provider and provider_user_id, or email alone');
  }

  /**
   * Claims of a user
   *
   * @returns The claims of both sources, and what tokens carry.
   * @throws OAuthError `not_found`
   */
  @Requires('users')
  @Get(':user_id/claims')
  async claims(@Param('user_id', userIdPipe) userId: string): Promise<ClaimsOfUser> {
    return toClaimsOfUser(await this.users.claims(userId));
  }

  /**
   * Replace the claims that the application has set
   *
   * Within a second, all instances and readers of the session revocation feed use the new claims, also for
   * tokens issued before.
   *
   * @returns The claims afterwards.
   * @throws OAuthError `not_found`
   */
  @Requires('users')
  @Put(':user_id/claims')
  async setClaims(
    @Param('user_id', userIdPipe) userId: string,
    @Body() { claims }: SetClaimsDto,
    @RequestOrigin() origin: Origin,
  ): Promise<ClaimsOfUser> {
    return toClaimsOfUser(await this.users.setClaims(userId, claims, origin));
  }
}
