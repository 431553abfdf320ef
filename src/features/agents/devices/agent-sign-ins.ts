import { Injectable } from '@nestjs/common';
import { SignInStep, type SignedIn } from '../../../extensions.js';
import type { Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import { ChannelHistory } from '../../../channel/channel.history.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { lockUser } from '../../../user/lock-user.js';
import type { AgentDevice } from './agent-device.entity.js';
import { AgentDevices } from './agent-device.store.js';

/** Programs of a user with a live session; one more ends the one that was used least recently. */
const MOST_AGENTS = 50;

declare module '../../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** The sign-in lets a program act for the user: by consent, or as the provider says. */
    readonly agent?: Omit<AgentDevice, 'userId' | 'sessionId'>;
    /** The provider lets it do so. */
    readonly isAsserted?: true;
  }
}

/** The session of a program is that of a device, in place of the former one. */
@Injectable()
@SignInStep({ after: 'limit' })
export class AgentSignIns implements SignInStep {
  constructor(
    private readonly devices: AgentDevices,
    private readonly history: ChannelHistory,
    private readonly audit: AuditStore,
    private readonly signOuts: SignOutService,
  ) {}

  async after({ provider, identity, session, origin }: SignedIn): Promise<void> {
    const { agent } = identity.facts;
    if (!agent) return;
    const { userId, sessionId } = session;
    const { deviceId, clientId, clientName, resource, scope } = agent;
    const isOfProvider = agent.provider !== null;
    const actor = isOfProvider
      ? ({ type: 'provider', name: provider } as const)
      : ({ type: 'user', name: userId } as const);
    const by: Origin = { ...origin, actor };
    await this.history.transactionOf(userId, async (within) => {
      const { manager, append } = within;
      // In this transaction: later, only the new session is known as that of the program.
      const end = (superfluous: string) =>
        this.signOuts.endEachIn(within, [{ ...session, sessionId: superfluous }], by, 'replaced');
      await lockUser(manager, userId); // of two consents, each replaces the session of the one before
      const before = await this.devices.find(manager, { userId, deviceId });
      if (isOfProvider && before) {
        // Another exchange was faster, and shares its session; or a person has just ended the program.
        if (before.refusedAt || (await this.devices.isLive(manager, before))) return end(sessionId);
      }
      await this.devices.replace(manager, { ...agent, userId, sessionId });
      const facts = { device_id: deviceId, client_name: clientName, resource, scope };
      await append('agent.allowed', [[userId, facts]]);
      const reason = `${clientName} (${clientId}) for ${resource}: ${scope}`;
      const { providerUserId } = identity;
      await this.audit.write(manager, [
        { event: 'agent_allowed', ...session, provider, providerUserId, reason, origin: by },
      ]);
      return isOfProvider || !before ? 0 : end(before.sessionId);
    });
    const bySystem: Origin = { ...origin, actor: { type: 'system', name: 'agents' } };
    await this.signOuts.endExcess(session, MOST_AGENTS, bySystem);
  }
}
