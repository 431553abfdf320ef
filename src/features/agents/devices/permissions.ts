import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { systemOrigin } from '../../../audit/audit-event.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import type { SessionIds } from '../../../platform/events.js';
import { Audiences } from '../../../token/access-tokens/audiences.js';
import type { Delegation } from '../../../token/access-tokens/access-token.js';
import { AgentClients } from '../clients/agent-clients.js';
import { AgentsFile } from '../file/agents-file.js';
import type { AgentDevice } from './agent-device.entity.js';
import { AgentDevices } from './agent-device.store.js';
import { ProgramEnds } from './program-ends.js';

type Granted = Pick<AgentDevice, 'clientId' | 'resource' | 'scope'>;

/** What AGENTS_FILE still permits of what users have allowed: the rest ends at once. */
@Injectable()
export class Permissions implements OnApplicationBootstrap {
  constructor(
    private readonly file: AgentsFile,
    private readonly clients: AgentClients,
    private readonly devices: AgentDevices,
    private readonly ends: ProgramEnds,
    private readonly signOuts: SignOutService,
    audiences: Audiences,
  ) {
    const resources = file.resources.map(({ resource, claims, serviceKeyHashes: keyHashes }) => {
      return { resource, claims, keyHashes };
    });
    audiences.add(resources);
  }

  /** Ends the sessions of what was taken out of the file. */
  async onApplicationBootstrap(): Promise<void> {
    for (const kind of await this.devices.findLiveKinds()) {
      if (this.of(kind)) continue;
      const { clientId, resource, scope } = kind;
      await this.ends.endAll(
        { clientId, resources: [resource], scope },
        systemOrigin('agents'),
        'not_allowed',
      );
    }
  }

  /** @returns undefined if the program, its trust, the API or its last scope is gone */
  of({ clientId, resource: identifier, scope }: Granted): Delegation | undefined {
    const found = this.file.findResource(identifier);
    if (!found || !this.clients.isAccepted(clientId)) return undefined;
    const scopes = scope.split(' ').filter((one) => found.scopes.has(one));
    const { resource: audience, claims } = found;
    return scopes.length === 0 ? undefined : { audience, clientId, scope: scopes.join(' '), claims };
  }

  /** Ends a session. */
  async end(session: SessionIds): Promise<void> {
    await this.signOuts.signOut('session', session, systemOrigin('agents'), { cause: 'not_allowed' });
  }
}
