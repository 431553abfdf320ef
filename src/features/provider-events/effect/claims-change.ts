import { Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import type { ChannelTransaction } from '../../../channel/channel.history.js';
import { claimPaths, unescaped } from '../../../platform/config/providers/claim-paths.js';
import { isObject } from '../../../platform/http/parameters/json.js';
import type { Claims } from '../../../identity/claims.js';
import { mappedClaims } from '../../../provider/identity/claims.js';
import { claimMaps, selectClaims } from '../../../provider/identity/select-claims.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { UserLifecycles } from '../../../user/user-lifecycle.js';
import { UserChanges } from '../../../user/user-changes.store.js';
import { UserStore } from '../../../user/user.store.js';
import type { Signal } from '../verify/set-claims.js';
import { AccountStates } from './account-states.store.js';
import type { Meant } from './meant-users.js';

/** Applies `token-claims-change` (CAEP 1.0 §3.2), as a sign-in would. */
@Injectable()
export class ClaimsChange {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly changes: UserChanges,
    private readonly users: UserStore,
    private readonly lifecycles: UserLifecycles,
    private readonly accounts: AccountStates,
  ) {}

  /** @returns what was done, for the audit trail */
  async apply(
    within: ChannelTransaction,
    provider: string,
    { userIds: [userId, ...others], accounts: [account] }: Meant,
    { body, time }: Pick<Signal, 'body' | 'time'>,
    origin: Origin,
  ): Promise<string> {
    const { manager } = within;
    if (userId === undefined || others.length > 0 || !account) return 'recorded only: not one user';
    const changed = this.read(provider, body['claims']);
    if (changed.size === 0) return 'recorded only: no kept claim';
    // A joined identity brings no claims.
    if ((await this.users.find(userId))?.provider !== provider) return 'recorded only: a joined identity';
    const owned = await this.lifecycles.ownClaims(manager, userId);
    const at = new Date(time * 1000);
    if (!(await this.accounts.beginClaims(manager, userId, account, at))) {
      return 'recorded only: the claims are newer';
    }
    const claims = (present: Claims): Claims => {
      const after = new Map(Object.entries(present));
      for (const [name, value] of changed) {
        if (owned.has(name)) continue;
        if (value === undefined) after.delete(name);
        else after.set(name, value);
      }
      return Object.fromEntries(after);
    };
    const change = new Map([[userId, { claims }]]);
    await this.changes.apply(within, [userId], () => change, origin);
    return 'claims applied';
  }

  /** Returns the kept claims that an event is about; undefined as a value: the user has lost it. */
  private read(provider: string, sent: unknown): ReadonlyMap<string, unknown> {
    const { options } = this.providers.get(provider).settings;
    if (!isObject(sent)) return new Map();
    const { whole } = selectClaims(mappedClaims(sent, options), claimMaps(options));
    const lost = claimPaths(options['claims']).filter(([, path]) => sent[unescaped(path)] === null);
    return new Map<string, unknown>([
      ...lost.map(([name]) => [name, undefined] as const),
      ...Object.entries(whole),
    ]);
  }
}
