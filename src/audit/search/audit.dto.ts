import { OptionalCursor } from '../../http/parameters/cursor.js';
import { KnownOnly, OptionalText, type TextRule } from '../../http/parameters/parameter.js';
import { A_UUID } from '../../http/parameters/uuid.js';
import { AUDIT_NAMES, type AuditName } from '../../config/settings/audit-names.js';
import { AuditEvent } from '../audit-event.js';

/** RFC 3339 §5.6, with seconds up to microseconds. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:Z|[+-]\d{2}:\d{2})$/i;
const A_TIME: TextRule = {
  matches: {
    pattern: { test: (text: string) => TIME.test(text) && !Number.isNaN(Date.parse(text)) },
    // A raw `+` of a query arrives as a space.
    as: 'a time as in RFC 3339 (in a query, write + as %2B, or use Z)',
  },
};
const oneOf = (names: readonly string[]): TextRule => ({
  matches: { pattern: { test: (text: string) => names.includes(text) }, as: `one of ${names.join(', ')}` },
});

/** Query of GET /audit. Each parameter that is given restricts the result. */
@KnownOnly()
export class AuditDto {
  @OptionalText(A_UUID)
  user_id?: string;

  /** Name of the event. */
  @OptionalText(oneOf(AUDIT_NAMES))
  event?: AuditName;

  @OptionalText({ max: 63 })
  provider?: string;

  /** `ok` or `refused`. */
  @OptionalText(oneOf(['ok', 'refused']))
  result?: AuditEvent['result'];

  /** Events from this time on (RFC 3339). */
  @OptionalText(A_TIME)
  since?: string;

  /** Events before this time (RFC 3339). */
  @OptionalText(A_TIME)
  until?: string;

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
