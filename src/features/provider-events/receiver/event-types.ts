const EVENTS = 'https://schemas.openid.net/secevent/';

/** Known events by their family (CAEP 1.0, RISC 1.0, SSF 1.0). */
const NAMES = {
  caep: [
    'session-revoked',
    'credential-change',
    'assurance-level-change',
    'device-compliance-change',
    'token-claims-change',
  ],
  risc: [
    'account-disabled',
    'account-enabled',
    'account-purged',
    'account-credential-change-required',
    'credential-compromise',
    'sessions-revoked',
  ],
  ssf: ['verification', 'stream-updated'],
} as const;

export type EventName = (typeof NAMES)[keyof typeof NAMES][number];

const BY_TYPE: ReadonlyMap<string, EventName> = new Map(
  Object.entries(NAMES).flatMap(([family, names]) =>
    names.map((name): [string, EventName] => [`${EVENTS}${family}/event-type/${name}`, name]),
  ),
);

type Members = Readonly<Record<string, unknown>>;

/** Returns the name of an event by its URI; undefined for one that is only recorded. */
export function eventName(type: string): EventName | undefined {
  return BY_TYPE.get(type);
}

/** Whether an event means that sessions must end, by what it says itself. */
export function endsSessions(name: EventName, body: Members): boolean {
  switch (name) {
    case 'session-revoked':
    case 'credential-change':
    case 'account-disabled':
    case 'account-purged':
    case 'account-credential-change-required':
    case 'credential-compromise':
    case 'sessions-revoked':
      return true;
    case 'assurance-level-change':
      return isLower(body);
    case 'device-compliance-change':
      return body['current_status'] === 'not-compliant';
    default:
      return false;
  }
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
