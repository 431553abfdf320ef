import { Injectable, type PipeTransform } from '@nestjs/common';
import { Declared } from '../../platform/declared.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { OptionalCursor } from '../../platform/http/parameters/cursor.js';
import { soughtAddress } from '../../platform/http/network.js';
import {
  KnownOnly,
  OptionalText,
  RequiredText,
  type TextRule,
} from '../../platform/http/parameters/parameter.js';
import { A_UUID } from '../../platform/http/parameters/uuid.js';
import { AuditEvent } from '../audit-event.js';
import type { AuditName } from '../audit-names.js';

/** RFC 3339 §5.6, with seconds up to nanoseconds, as Go writes them. */
const TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;

/** `Date` takes 31 February as 3 March. */
function isTime(text: string): boolean {
  const day = TIME.exec(text)?.[1];
  if (day === undefined || Number.isNaN(Date.parse(text))) return false;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

const A_TIME: TextRule = {
  matches: {
    pattern: { test: isTime },
    // A raw `+` of a query arrives as a space.
    as: 'a time as in RFC 3339 (in a query, write + as %2B, or use Z)',
  },
};
const oneOf = (names: readonly string[]): TextRule => ({
  matches: { pattern: { test: (text: string) => names.includes(text) }, as: `one of ${names.join(', ')}` },
});
const AN_ADDRESS: TextRule = {
  max: 64,
  matches: {
    pattern: { test: (text: string) => soughtAddress(text, 'full') !== undefined },
    as: 'an IP address, or a network as events have it (/24, IPv6: /48)',
  },
};
const TRUE: TextRule = { matches: { pattern: /^true$/, as: 'true' } };

/** Which events: each parameter that is given restricts the result. */
export class AuditFilters {
  /** With the events of users who became part of this one; the counts are without them. */
  @OptionalText(A_UUID)
  user_id?: string;

  /** Name of the event. */
  @OptionalText() // KnownEvent looks for it among those of all features
  event?: AuditName;

  @OptionalText({ max: 63 })
  provider?: string;

  /** Id of the person at the provider, byte for byte; only with `provider`, and without `user_id`. */
  @OptionalText({ max: 255, mayBeBlank: true })
  provider_user_id?: string;

  /** `ok` or `refused`. */
  @OptionalText(oneOf(['ok', 'refused']))
  result?: AuditEvent['result'];

  /** Code of a refusal. */
  @OptionalText({ max: 64 })
  error?: string;

  /** IP address; it is looked for as `AUDIT_ADDRESSES` stores it. Or a network, as events have it. */
  @OptionalText(AN_ADDRESS)
  address?: string;

  /** `X-Request-Id` of an answer. */
  @OptionalText(A_UUID)
  request_id?: string;

  @OptionalText(A_UUID)
  session_id?: string;

  @OptionalText(A_UUID)
  device_id?: string;

  /** `true`: sign-ins on a device that was new to the user. */
  @OptionalText(TRUE)
  new_device?: 'true';

  /** `true`: sign-ins from a network that was new to the user. */
  @OptionalText(TRUE)
  new_network?: 'true';

  /** Events from this time on (RFC 3339). */
  @OptionalText(A_TIME)
  since?: string;

  /** Events before this time (RFC 3339). */
  @OptionalText(A_TIME)
  until?: string;
}

/** Refuses a search for an event that no part of the service writes. */
@Injectable()
export class KnownEvent<Filters extends AuditFilters> implements PipeTransform<Filters> {
  constructor(private readonly declared: Declared) {}

  /** @throws OAuthError `invalid_request` */
  transform(filters: Filters): Filters {
    const { auditNames } = this.declared;
    if (filters.event === undefined || auditNames.includes(filters.event)) return filters;
    throw new OAuthError('invalid_request', `event must be one of ${auditNames.join(', ')}`);
  }
}

/** Query of GET /audit. */
@KnownOnly()
export class AuditDto extends AuditFilters {
  /** Events on a page, 1000 at most; default 50. */
  @OptionalText({ matches: { pattern: /^(?:[1-9]\d{0,2}|1000)$/, as: 'a whole number from 1 to 1000' } })
  limit?: string;

  /** `next_cursor` of the page before; left out: the first page. */
  @OptionalCursor()
  cursor?: string;
}

/** Answer of GET /audit. */
export class AuditEvents {
  /** Newest first. May be fewer than `limit`, even none, although there are more. */
  events!: AuditEvent[];

  /** For the next page; left out on the last one. */
  next_cursor?: string | undefined;
}

/** Query of GET /audit/counts. */
@KnownOnly()
export class AuditCountsDto extends AuditFilters {
  /**
   * What is counted: each error, event, provider or hour. Events without an error, or provider, are left out.
   */
  @RequiredText(oneOf(['error', 'event', 'provider', 'hour']))
  by!: 'error' | 'event' | 'provider' | 'hour';
}

export class AuditCount {
  /**
   * An error, an event, a provider, or the beginning of an hour (RFC 3339). `other` stands for all beyond the
   * 100 most frequent.
   */
  key!: string;

  /** Number of events. */
  attempts!: number;

  /**
   * Distinct people. Someone who is not known counts by the id at the provider, else by address, else not at
   * all.
   */
  people!: number;
}

/** Answer of GET /audit/counts. */
export class AuditCounts {
  /** Most attempts first; hours in their order. */
  counts!: AuditCount[];

  /** From this time on events were counted; later than asked for if there were too many. */
  since!: string;

  /** Events before this time were counted. */
  until!: string;
}
