import { Injectable } from '@nestjs/common';
import { EndEvents, type EndEvent } from '../../audit/end-events.js';
import type { Session } from './session.entity.js';

const ACTORS: Readonly<Record<string, string>> = { service_key: 'service key' };

/** Says how a session has ended, for the audit trail (docs/audit.md#refused-refreshes). */
@Injectable()
export class SessionEndReasons {
  constructor(private readonly events: EndEvents) {}

  /** @returns undefined for a session that has not ended */
  async describe(session: Session): Promise<string | undefined> {
    const { userId, sessionId, signedOutAt, expiresAt, endsBecause } = session;
    if (signedOutAt) {
      const event = await this.events.find(userId, sessionId, signedOutAt);
      return describeEnd(event, signedOutAt, endsBecause);
    }
    if (expiresAt.getTime() > Date.now()) return undefined;
    return `expired at ${expiresAt.toISOString()}${suffix(endsBecause)}`;
  }
}

function describeEnd(event: EndEvent | undefined, at: Date, endsBecause: string | null): string {
  const time = at.toISOString();
  if (!event) return `ended at ${time}${suffix(endsBecause)}`;
  const { reason, actor_type: type, actor_name: name } = event;
  if (event.event === 'session_lost') return `lost at ${time}${suffix(reason)}`;
  if (reason?.startsWith('by ')) return `ended ${reason} at ${time}`;
  const actor = `${ACTORS[type] ?? type}${name === null ? '' : ` ${name}`}`;
  return `ended by ${type === 'user' && name === null ? 'the user' : actor} at ${time}${suffix(reason)}`;
}

function suffix(reason: string | null): string {
  return reason === null ? '' : `: ${reason}`;
}
