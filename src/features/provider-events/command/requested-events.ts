import type { EndingEvent } from '../provider-events.settings.js';

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';

const ENDING: Readonly<Record<EndingEvent, string>> = {
  'session-revoked': CAEP,
  'credential-change': CAEP,
  'assurance-level-change': CAEP,
  'device-compliance-change': CAEP,
  'account-disabled': RISC,
  'account-purged': RISC,
  'account-credential-change-required': RISC,
  'credential-compromise': RISC,
  'sessions-revoked': RISC,
};

/** With another effect than the end of sessions. */
const OTHERS = [`${RISC}account-disabled`, `${RISC}account-enabled`, `${CAEP}token-claims-change`];

/**
 * Returns the event types with an effect here.
 * @param ending names of events that end sessions; default: all
 */
export function requestedEvents(ending: readonly string[] = Object.keys(ENDING)): readonly string[] {
  return [...new Set([...ending.map((name) => ENDING[name as EndingEvent] + name), ...OTHERS])];
}
