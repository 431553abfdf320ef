import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, In, IsNull, Not, Raw, type FindOptionsWhere } from 'typeorm';
import type { Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import { SealedIdentities } from '../../../auth/sealed-identities.js';
import type { Verified } from '../../../extensions.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { AgentRequest } from './agent-request.entity.js';
import type { BrowserSecret } from './browser-cookie.js';

/**
 * Codes for programs. `lkc_`: an instance without the feature looks such a code up, and does not find it. Its
 * own codes have no point.
 */
export const CODE_PREFIX = 'lkc_a.';
/** Seconds that a person has for the sign-in, and then for the answer. An end in that time is remembered. */
const ANSWER_TTL = 600;
/** Seconds; as of other codes. */
const CODE_TTL = 60;

type Begun = Omit<AgentRequest, 'idHash' | 'browserHash' | 'expiresAt'>;
export type NewAgentRequest = Omit<
  Begun,
  'userId' | 'provider' | 'identity' | 'requestedAt' | 'browser' | 'codeHash'
>;

const isFuture = () => Raw((column) => `${column} > now()`);
const seconds = (ttl: number) => (): string => `now() + interval '${ttl} s'`;

/** Rows of requests. Each step is one conditional change, so one of concurrent steps wins. */
@Injectable()
export class AgentRequests {
  constructor(
    private readonly dataSource: DataSource,
    private readonly identities: SealedIdentities,
    private readonly audit: AuditStore,
  ) {}

  /** @returns id of the request */
  async begin(request: NewAgentRequest, browser: BrowserSecret): Promise<string> {
    const id = randomBytes(32).toString('base64url');
    const row = { ...request, ...keyOf(id, browser), expiresAt: seconds(ANSWER_TTL) };
    await this.dataSource.manager.insert(AgentRequest, row);
    return id;
  }

  /** Finds a request that waits for a person in this browser. */
  async find(id: string, browser: BrowserSecret): Promise<AgentRequest | undefined> {
    const where = { ...keyOf(id, browser), codeHash: IsNull(), expiresAt: isFuture() };
    return (await this.dataSource.manager.findOneBy(AgentRequest, where)) ?? undefined;
  }

  /** Keeps the person who has signed in, perhaps in place of another one. @returns whether it still waits */
  async signedIn(id: string, browser: BrowserSecret, verified: Verified): Promise<boolean> {
    const { idHash, ...key } = keyOf(id, browser);
    const userId = deriveUserId(verified.provider, verified.identity.providerUserId);
    const expiresAt = new Date(verified.requestedAt + ANSWER_TTL * 1000);
    const sealed = this.identities.seal(verified, ownerOf(idHash));
    const where = { idHash, ...key, codeHash: IsNull(), expiresAt: isFuture() };
    const changed = await this.dataSource.manager.update(AgentRequest, where, {
      ...sealed,
      userId,
      expiresAt,
    });
    return changed.affected === 1;
  }

  /**
   * Makes the code of a request that the person allows.
   * @param scope what they allow, separated by spaces
   * @returns undefined if it was answered before, or by another person
   */
  async allow(
    { idHash, userId }: AgentRequest,
    scope: string,
    { address, userAgent }: Origin,
  ): Promise<string | undefined> {
    const code = CODE_PREFIX + randomBytes(32).toString('base64url');
    const changed = await this.dataSource.manager.update(AgentRequest, waiting(idHash, userId), {
      codeHash: hash('sha256', code, 'buffer'),
      scope,
      browser: { address, userAgent },
      expiresAt: seconds(CODE_TTL),
    });
    return changed.affected === 1 ? code : undefined;
  }

  /** Ends a request that the person does not allow. @returns false if it was answered before */
  deny({ idHash, userId, provider, clientId, resource }: AgentRequest, origin: Origin): Promise<boolean> {
    return this.dataSource.transaction(async (manager) => {
      const removed = await manager.delete(AgentRequest, waiting(idHash, userId));
      if (removed.affected !== 1) return false;
      const error = 'access_denied';
      const reason = `${clientId} for ${resource}`;
      await this.audit.write(manager, [{ event: 'agent_refused', userId, provider, error, reason, origin }]);
      return true;
    });
  }

  /** Ends a request after a failed sign-in. */
  async end({ idHash }: AgentRequest): Promise<void> {
    await this.dataSource.manager.delete(AgentRequest, { idHash, codeHash: IsNull() });
  }

  /** Takes back what waits for a person, or for its code to be redeemed. @param resources absent: any */
  async forget(clientId: string, resources?: readonly string[]): Promise<void> {
    const where = { clientId, ...(resources && { resource: In(resources) }) };
    await this.dataSource.manager.delete(AgentRequest, where);
  }

  /** Finds the request of a code without spending it. */
  async findByCode(code: string): Promise<AgentRequest | undefined> {
    const where = { codeHash: hash('sha256', code, 'buffer'), expiresAt: isFuture() };
    return (await this.dataSource.manager.findOneBy(AgentRequest, where)) ?? undefined;
  }

  /** Spends a code: of concurrent calls, one gets it. */
  async spend({ idHash }: AgentRequest): Promise<boolean> {
    const spent = await this.dataSource.manager.delete(AgentRequest, { idHash, codeHash: Not(IsNull()) });
    return spent.affected === 1;
  }

  /** Opens the identity of the person who has signed in. */
  verifiedOf({ idHash, provider, identity, requestedAt }: AgentRequest): Verified {
    const stored = { provider: provider!, identity: identity!, requestedAt: requestedAt! };
    return this.identities.open(stored, ownerOf(idHash));
  }
}

function keyOf(id: string, browser: BrowserSecret): Pick<AgentRequest, 'idHash' | 'browserHash'> {
  return { idHash: hash('sha256', id, 'buffer'), browserHash: browser.hash };
}

function waiting(idHash: Buffer, userId: string | null): FindOptionsWhere<AgentRequest> {
  return { idHash, userId: userId!, codeHash: IsNull(), expiresAt: isFuture() };
}

function ownerOf(idHash: Buffer): string {
  return `agent ${idHash.toString('hex')}`;
}
