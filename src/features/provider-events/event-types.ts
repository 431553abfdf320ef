type Members = Readonly<Record<string, unknown>>;

interface EventType {
  readonly family: 'caep' | 'risc' | 'ssf';
  /** Whether sessions must end, by what the event says; absent: they do not. */
  readonly ends?: (event: Members) => boolean;
  /** It has an effect besides an end of sessions. */
  readonly changes?: true;
}

const always = (): boolean => true;

/** Known events (CAEP 1.0, RISC 1.0, SSF 1.0; docs/signals.md#effects). */
const EVENTS = {
  'session-revoked': { family: 'caep', ends: always },
  'credential-change': { family: 'caep', ends: always },
  'assurance-level-change': { family: 'caep', ends: isLower },
  'device-compliance-change': {
    family: 'caep',
    ends: (event) => event['current_status'] === 'not-compliant',
  },
  'account-disabled': { family: 'risc', ends: always, changes: true },
  'account-enabled': { family: 'risc', changes: true },
  'account-purged': { family: 'risc', ends: always },
  'account-credential-change-required': { family: 'risc', ends: always },
  'credential-compromise': { family: 'risc', ends: always },
  'sessions-revoked': { family: 'risc', ends: always },
  'token-claims-change': { family: 'caep', changes: true },
  verification: { family: 'ssf' },
  'stream-updated': { family: 'ssf' },
} as const satisfies Readonly<Record<string, EventType>>;

export type EventName = keyof typeof EVENTS;

const ALL = Object.entries<EventType>(EVENTS) as readonly (readonly [EventName, EventType])[];

const uriOf = (name: EventName, { family }: EventType): string =>
  `https://schemas.openid.net/secevent/${family}/event-type/${name}`;

const BY_URI: ReadonlyMap<string, EventName> = new Map(ALL.map(([name, type]) => [uriOf(name, type), name]));

/** Names of the events that can end sessions. */
export const ENDING: readonly string[] = ALL.flatMap(([name, { ends }]) => (ends ? [name] : []));

/** Returns the name of an event by its URI; undefined for one that is only recorded. */
export function eventName(uri: string): EventName | undefined {
  return BY_URI.get(uri);
}

/** @param endedBy names of the events that may end sessions */
export function endsSessions(name: EventName, event: Members, endedBy = ENDING): boolean {
  const { ends }: EventType = EVENTS[name];
  return endedBy.includes(name) && ends!(event);
}

/**
 * Returns the URIs of the events with an effect here.
 * @param endedBy as for `endsSessions`
 */
export function requestedEvents(endedBy = ENDING): readonly string[] {
  const wanted = ALL.filter(([name, { changes }]) => changes || endedBy.includes(name));
  return wanted.map(([name, type]) => uriOf(name, type));
}

/** CAEP 1.0 §3.4: without a direction, levels such as `nist-aal2` are compared by their number. */
function isLower({
  change_direction: direction,
  previous_level: before,
  current_level: now,
}: Members): boolean {
  if (direction !== undefined) return direction === 'decrease';
  const [from, to] = [before, now].map((level) =>
    typeof level === 'string' ? /^(.{0,64}?)(\d{1,3})$/.exec(level) : null,
  );
  return Boolean(from && to && from[1] === to[1] && Number(to[2]) < Number(from[2]));
}
