import { Injectable } from '@nestjs/common';
import type { DelegatedTokens } from '../../../auth/token.dto.js';
import { TokenGrant, type GrantCall } from '../../../extensions.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../../platform/events.js';
import type { Delegation } from '../../../token/access-tokens/access-token.js';
import { DELEGATED } from '../../../token/refresh/refresh-token.js';
import { RefreshService, type Delegated } from '../../../token/refresh/refresh.service.js';
import { ClientAuthentication } from '../clients/client-authentication.js';
import { AgentDevices } from '../devices/agent-device.store.js';
import { Permissions } from '../devices/permissions.js';
import { UNCOUNTED_SCOPES } from '../file/agents-file.js';
import { requireClientId, requireSameResource } from './agent-code.grant.js';
import { AgentRefreshDto } from './agent-token.dto.js';

/** The refresh token of a program at POST /oauth2/token (RFC 6749 §6); `/oauth2/refresh` does not know it. */
@Injectable()
@TokenGrant({ prefix: DELEGATED, dto: AgentRefreshDto })
export class AgentRefreshGrant implements TokenGrant<AgentRefreshDto> {
  constructor(
    private readonly refreshes: RefreshService,
    private readonly devices: AgentDevices,
    private readonly authentication: ClientAuthentication,
    private readonly permissions: Permissions,
  ) {}

  async issue(params: AgentRefreshDto, { dpop, origin, authorization }: GrantCall): Promise<DelegatedTokens> {
    const clientId = requireClientId(params, authorization);
    let scope = '';
    const find = async (session: SessionIds): Promise<Delegated> => {
      const found = await this.find(session, clientId, params, authorization);
      scope = found.delegation.scope;
      return found;
    };
    const { refresh_token } = params;
    const refreshed = await this.refreshes.refresh({ refresh_token }, dpop, () => origin, find);
    return Object.assign(refreshed, { scope });
  }

  /** @throws OAuthError `invalid_grant`, `invalid_client`, `invalid_target`, `invalid_scope` */
  private async find(
    session: SessionIds,
    clientId: string,
    params: AgentRefreshDto,
    authorization: string | undefined,
  ): Promise<Delegated> {
    const device = await this.devices.findOfSession(session, session.deviceId);
    if (!device) throw new OAuthError('invalid_grant', 'refresh token is unknown or has expired');
    if (device.clientId !== clientId) {
      throw new OAuthError('invalid_grant', 'the refresh token was issued to another client');
    }
    await this.authentication.check(clientId, device.authentication, params, authorization);
    const granted = this.permissions.of(device);
    if (!granted) {
      await this.permissions.end(session);
      throw new OAuthError('invalid_grant', 'the program is not accepted any more');
    }
    if (params.resource !== undefined) requireSameResource(params.resource, device.resource);
    return { delegation: narrow(granted, params.scope), latest: device.endsAt.getTime() / 1000 };
  }
}

/** @throws OAuthError `invalid_scope` for more than was allowed */
function narrow(granted: Delegation, scope: string | undefined): Delegation {
  if (scope === undefined) return granted;
  const allowed = granted.scope.split(' ');
  const wanted = new Set(scope.split(' ').filter((one) => one !== '' && !UNCOUNTED_SCOPES.has(one)));
  if (wanted.size === 0) return granted;
  if ([...wanted].every((one) => allowed.includes(one))) {
    return { ...granted, scope: [...wanted].join(' ') };
  }
  throw new OAuthError('invalid_scope', 'scope has more than was granted');
}
