import { networkOf } from '../../platform/http/network.js';
import type { AuditEvent } from '../audit-event.js';

/** Refusals of one minute that one address of WEBHOOK_URLS gets. */
const MOST_REFUSALS = 100;
const MINUTE = 'YYYY-MM-DDThh:mm'.length;

/**
 * Chooses the events of one address. Strangers cause refusals, and must not delay other events: each minute
 * the first with a name, network and user is wanted, and 100 in all. The trail has all of them.
 */
export class WantedEvents {
  private minute = '';
  /** Wanted refusals of the minute: ids by their kind. An event may be read again. */
  private readonly refusals = new Map<string, string>();

  /** @param names of wanted events */
  constructor(private readonly names: readonly string[]) {}

  includes(event: AuditEvent): boolean {
    return this.names.includes(event.event) && (event.result === 'ok' || this.isFirst(event));
  }

  private isFirst({ id, at, event, address, user_id }: AuditEvent): boolean {
    const minute = at.slice(0, MINUTE);
    if (minute !== this.minute) this.refusals.clear();
    this.minute = minute;
    const kind = address === undefined ? id : `${event} ${user_id} ${toNetwork(address)}`;
    const first = this.refusals.get(kind);
    if (first === undefined && this.refusals.size < MOST_REFUSALS) this.refusals.set(kind, id);
    return this.refusals.get(kind) === id;
  }
}

/** @param address as `AUDIT_ADDRESSES` allows */
function toNetwork(address: string): string {
  return address.includes('/') ? address : networkOf(address);
}
