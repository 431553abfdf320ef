import type { Patch } from './patched-client.js';

/** A fault that is planted into the client, and what the storm has to say of it. */
interface PlantedFault extends Patch {
  readonly name: string;
  /** The steps that are drawn, so that it shows soon; left out: all of the storm. */
  readonly only?: readonly string[];
  readonly found: RegExp;
}

export const FAULTS: readonly PlantedFault[] = [
  {
    name: 'has no lock between its tabs',
    file: 'exclusive.ts',
    from: 'if (!locks) return',
    to: 'if (locks) return',
    only: ['open a tab', 'all tabs ask at once', 'a refresh is answered late'],
    found: /two refreshes at once|a refresh that nothing explains/,
  },
  {
    name: 'refreshes in a page that is gone',
    file: 'service.ts',
    from: `!path.startsWith('/oauth2/')`,
    to: 'true',
    only: ['open a tab', 'a tab is closed in a refresh', 'a tab is reloaded in a refresh'],
    found: /two refreshes at once|a refresh that nothing explains/,
  },
  {
    name: 'refreshes at half of a life',
    file: 'refresher.ts',
    from: 'const LEAD = 300;',
    to: 'const LEAD = 1800;',
    found: /a refresh that nothing explains/,
  },
  {
    name: 'refreshes twice each time',
    file: 'refresher.ts',
    from: 'return secondsUntilDue() > 0 ? token : attempt(token, false);',
    to: 'return attempt(token, false);',
    found: /a refresh that nothing explains/,
  },
  {
    name: 'signs out when the network fails',
    file: 'refresher.ts',
    from: 'if (Date.now() - signed_in_at >= life * 1000) return',
    to: 'return',
    only: ['time passes', 'the network is away', 'the service is away'],
    found: /signed out: expired/,
  },
  {
    name: 'signs out when IndexedDB fails',
    file: 'keys.ts',
    from: `: 'key_unavailable'`,
    to: `: 'key_lost'`,
    only: ['IndexedDB fails once'],
    found: /signed out: key_lost/,
  },
  {
    name: 'takes the token that it has',
    file: 'refresher.ts',
    from: 'if (secondsUntilDue() <= 0) {',
    to: 'if (keeper.age() < 0) {',
    only: ['the device sleeps', 'all tabs ask at once'],
    found: /with a stale token|signed out: refused/, // the channel takes two refusals for the end
  },
  {
    name: 'counts from the arrival of an answer',
    file: 'refresher.ts',
    from: '...answer, received_at }',
    to: '...answer, received_at: Date.now() }',
    only: ['the device sleeps in a refresh'],
    found: /with a stale token/,
  },
  {
    name: 'begins anew at each connection',
    file: 'channel.ts',
    from: 'auth: { token, offset, id }',
    to: 'auth: { token }',
    only: ['the network is away', 'connections break'],
    found: /events never/,
  },
  {
    name: 'does not count events',
    file: 'channel.ts',
    from: 'offset = number;\n      id = own;',
    to: '',
    only: ['events are pushed', 'connections break'],
    found: /events twice/,
  },
  {
    name: 'does not connect again',
    file: 'channel.ts',
    from: 'if (!closed) cancelRetry = after(seconds, () => void open());',
    to: '',
    only: ['connections break'],
    found: /the channel is not open/,
  },
];
