import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { TokenGrants } from '../../../auth/extensions/token-grants.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { BodyReader, UnreadBody } from '../../../platform/http/parameters/body.js';
import { bodyLimitsOf, OAuthParameters } from '../../../platform/http/parameters/parameter.js';
import { AgentClients } from '../clients/agent-clients.js';

const DEVICE = '/oauth2/device_authorization';

@OAuthParameters()
class AnyParameters {}

const READER = new BodyReader(bodyLimitsOf(AnyParameters, []));

/**
 * Keeps programs out of the flows that lead to tokens of the application. Their authorization requests, and
 * requests of other clients with `resource`, go to the controller of this feature.
 */
@Injectable()
export class AgentRoutes implements NestMiddleware {
  constructor(
    private readonly clients: AgentClients,
    private readonly grants: TokenGrants,
  ) {}

  async use(request: Request, _response: Response, next: NextFunction): Promise<void> {
    if (request.method === 'POST') await this.refuseAtDevices(request);
    else this.route(request);
    next();
  }

  private route(request: Request): void {
    const { client_id: clientId, resource } = request.query;
    const isAgent = typeof clientId === 'string' && this.clients.isAgent(clientId);
    if (!isAgent && (resource === undefined || resource === '')) return;
    const at = request.url.indexOf('?');
    request.url = `/agents/authorize${request.url.slice(at)}`;
  }

  /** @throws OAuthError `unauthorized_client` */
  private async refuseAtDevices({ body }: Request): Promise<void> {
    const isOn = this.grants.metadata.some(({ endpoint }) => endpoint === DEVICE);
    if (!isOn || !(body instanceof UnreadBody)) return;
    const read = await body.read(READER).catch(() => ({})); // refused later
    const { client_id: clientId } = read as { readonly client_id?: unknown };
    if (typeof clientId !== 'string' || !this.clients.isAgent(clientId)) return;
    throw new OAuthError('unauthorized_client', 'programs of third parties cannot use this grant');
  }
}
