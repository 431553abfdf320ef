import type { AuditEvent } from '../audit-event.js';
import { WantedEvents } from './wanted-events.js';

let nth = 0;
const event = (name: string, more: Partial<AuditEvent> = {}): AuditEvent => ({
  id: String(nth++),
  at: '2026-11-26T03:14:07.512Z',
  event: name as AuditEvent['event'],
  result: name.endsWith('_refused') ? 'refused' : 'ok',
  actor: { type: 'user' },
  ...more,
});
const refusal = (address?: string, more: Partial<AuditEvent> = {}) =>
  event('sign_in_refused', { address, ...more });

describe('events of an address', () => {
  let wanted: WantedEvents;
  beforeEach(() => {
    wanted = new WantedEvents(['sign_in', 'sign_in_refused', 'refresh_refused']);
  });
  const chosen = (events: readonly AuditEvent[]) => events.map((one) => wanted.includes(one));

  it('are those with the names, all of them', () => {
    expect(chosen([event('sign_in'), event('sign_in'), event('sign_out'), event('sign_in')])).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  it('of refusals, the first of a name, network and user in a minute', () => {
    const events = [
      refusal('192.0.2.1'),
      refusal('192.0.2.1'),
      refusal('192.0.2.2'),
      refusal('192.0.2.1', { event: 'refresh_refused' }),
      refusal('192.0.2.1', { user_id: 'ada' }),
      refusal('2001:db8::1'),
      refusal('2001:db8::2'),
      refusal('2001:db8:0:1::2'),
      refusal('198.51.100.0/24'),
      refusal('198.51.100.0/24'),
      refusal('192.0.2.1', { at: '2026-11-26T03:15:00.000Z' }),
    ];
    const first = [true, false, true, true, true, true, false, true, true, false, true];
    expect(chosen(events)).toEqual(first);
  });

  it('an event that is read again is chosen again', () => {
    const events = [refusal('192.0.2.1'), refusal('192.0.2.1'), refusal('192.0.2.2')];
    expect(chosen(events)).toEqual(chosen(events));
  });

  it('of refusals without an address all, and 100 of a minute in all', () => {
    expect(chosen([refusal(), refusal()])).toEqual([true, true]);
    const flood = Array.from({ length: 500 }, (_, i) => refusal(`10.0.${i >> 8}.${i & 255}`));
    expect(chosen(flood).filter(Boolean)).toHaveLength(98);
    expect(wanted.includes(event('sign_in'))).toBe(true);
  });
});
