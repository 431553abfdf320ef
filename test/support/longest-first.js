import Sequencer from '@jest/test-sequencer';

// What takes longest begins first, so that none of it is left when the other workers have nothing to do any more. Jest knows how long
// each took only where it has run before.
export const LONGEST = [
  'test/realtime/realtime-abuse.spec.ts',
  'test/database/crash.spec.ts',
  'test/realtime/realtime-cluster.spec.ts',
  'test/sample-provider/sample-provider.spec.ts',
  'test/install/start.spec.ts',
  'test/install/start-build.spec.ts',
];

/** The order of the spec files (Jest's `testSequencer`): the longest, then those that are many in one, then as Jest has them. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const place = LONGEST.findIndex((name) => path.endsWith(`/${name}`));
      if (place >= 0) return place;
      return path.includes('/test/together/test-') ? LONGEST.length : LONGEST.length + 1;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- Jest's own method, which changes no array
    return super.sort(tests).toSorted((a, b) => rank(a) - rank(b));
  }
}
