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
    only: ['all tabs ask at once', 'a refresh is answered late'],
    found: /two refreshes at once|a refresh that nothing explains/,
  },
  {
    name: 'refreshes in a page that is gone',
    file: 'service.ts',
    from: `!path.startsWith('/oauth2/')`,
    to: 'true',
    only: ['a tab is closed in a refresh', 'a tab is reloaded in a refresh'],
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
    name: 'sends no token that is older than ten minutes',
    file: 'bearer-fetch.ts',
    from: 'const response = await send(withBearer(request, access_token));',
    to: 'const response = await send(keeper.age() > 600 ? request : withBearer(request, access_token));',
    only: ['time passes'],
    found: /a ref(?:usal|resh) that nothing explains/,
  },
  {
    name: 'has no token again once it had none',
    file: 'bearer-fetch.ts',
    from: 'const access_token = await fresh();',
    to: `const all = globalThis as { none?: LatchkeyError };
    const access_token = await (all.none ? Promise.reject(all.none) : fresh()).catch((error: unknown) => {
      throw (all.none = error as LatchkeyError);
    });`,
    only: ['the network is away', 'all tabs ask at once'],
    found: /not well again: the application is answered/,
  },
  {
    name: 'keeps a token that is refused',
    file: 'bearer-fetch.ts',
    from: 'if (response.status !== 401 ||',
    to: 'if (response.status ||',
    only: ['the key is revoked', 'time passes'],
    found: /a refused token that was not exchanged/,
  },
  {
    name: 'takes the time from each answer, however late',
    file: 'clock.ts',
    from: 'late > took + SECOND',
    to: 'late > SECOND',
    only: ['the device sleeps in a refresh', 'time passes'],
    found: /a refusal that nothing explains/,
  },
  {
    name: 'sends the same proof again',
    file: 'post.ts',
    from: `const send = async (): Promise<Answer> => {
      const proof = await makeProof(pair, binding.issuer + path, clock.now()).catch(() => {
        throw new LatchkeyError('key_unavailable');
      });`,
    to: `const proof = await makeProof(pair, binding.issuer + path, clock.now()).catch(() => {
        throw new LatchkeyError('key_unavailable');
      });
    const send = async (): Promise<Answer> => {`,
    only: ['requests arrive twice'],
    found: /a refusal that nothing explains/,
  },
  {
    name: 'refreshes when it is thawed',
    file: 'refresher.ts',
    from: 'const stopWaking = onWake(() => {',
    to: `globalThis.document?.addEventListener('resume', () => void refresh().catch(() => undefined));
  const stopWaking = onWake(() => {`,
    only: ['freeze a tab', 'thaw the tabs'],
    found: /a refresh that nothing explains/,
  },
  {
    name: 'waits three seconds for another tab',
    file: 'exclusive.ts',
    from: 'const LONGEST_WAIT = 11;',
    to: 'const LONGEST_WAIT = 2;',
    only: ['a refresh takes seconds'],
    found: /two refreshes at once|a refresh that nothing explains/,
  },
  {
    name: 'overtakes another tab together with the others',
    file: 'exclusive.ts',
    from: 'return exclusive(`${name}!`, () => work(true));',
    to: 'return work(true);',
    only: ['a tab is frozen in a refresh', 'all tabs ask at once'],
    found: /two refreshes at once|a refresh that nothing explains/,
  },
  {
    name: 'never gives a request up',
    file: 'service.ts',
    from: 'const TIMEOUT = 10;',
    to: 'const TIMEOUT = 100_000;',
    only: ['a refresh is never answered'],
    found: /never came true: whoever made the refresh that hangs gives it up/,
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
