import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isFull, reportFigure, seed } from '../support/proof.js';
import { check } from './history/checker.js';
import { explain } from './history/explain.js';
import type { HistoryEntry } from './history/operation.js';
import { PLANTED_FAULTS, type PlantedFault } from './history/planted-faults.js';
import { withdrawals } from './history/plan.js';
import { planted, PlantedService } from './history/planted-service.js';
import { Recorder } from './history/recorder.js';
import { runHistory, type RunOptions } from './history/run.js';
import type { Violation } from './history/violation.js';
import { World } from './world/world.js';

/** What the first history, a short one, does not show may show in a longer one. */
const SECONDS = [4, 20, 60];
const OPTIONS: Omit<RunOptions, 'seed' | 'seconds' | 'faults' | 'keys'> = {
  people: 24,
  users: 8,
  pauseMs: 100,
  operations: 0,
};
/** As histories.spec.ts in full. */
const PATIENCE = { socketsMs: 3000, keysMs: 1500, deliveredMs: 3000 };
const ENV = { ACCESS_TOKEN_TTL: '14400', CHANNEL_HISTORY: '1000000' };
const LONGEST_MS = 600_000;

/** Those whose names have these words; all, unless there are some. */
const CHOSEN = PLANTED_FAULTS.filter(({ name }) => name.includes(process.env['FAULT'] ?? ''));

/** Where nothing is planted, all of it is done that is done for any of them. */
const NOTHING_PLANTED = {
  faults: [...new Set(PLANTED_FAULTS.map(({ faults = [] }) => faults))].flat(),
  revocations: 3,
};

/** What a history was, and what the checker says of it. */
interface Judged {
  readonly entries: readonly HistoryEntry[];
  readonly violations: readonly Violation[];
}

function tell(what: string, figure: string, wanted: string): void {
  reportFigure({ part: 'planted-histories', what, figure, wanted });
}

/** Whether the checker of recorded histories finds what it has to: in histories of a service with a fault. */
describe('planted in the compiled service', () => {
  const inFull = isFull && process.platform === 'linux' ? it : it.skip;
  let folder: string;

  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'latchkey-histories-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('each fault has its place', () => {
    expect(() => PLANTED_FAULTS.map(planted)).not.toThrow();
  });

  inFull(
    'nothing: nothing is found',
    async () => {
      const { entries, violations } = await judge(SECONDS.at(-1)!, {});
      tell('nothing', `${violations.length} in ${number(operations(entries))} operations`, '0');
      if (violations.length > 0) throw new Error(explain(violations, folder));
    },
    LONGEST_MS,
  );

  inFull.each(CHOSEN)(
    '$name: it is found',
    async (fault) => {
      const service = new PlantedService(fault);
      let tried = 0;
      try {
        for (const seconds of SECONDS) {
          const { entries, violations } = await judge(seconds, { fault, main: service.main });
          const found = violations.filter(({ rule }) => rule === fault.found);
          if (found.length > 0) {
            const first = found.toSorted((a, b) => shownAt(a) - shownAt(b))[0]!;
            const until = operations(entries.filter(({ ended }) => ended <= shownAt(first)));
            const figure = `${fault.found}: ${withoutIds(first.text)}; after ${number(tried + until)} operations`;
            return tell(fault.name, figure, fault.found);
          }
          tried += operations(entries);
        }
      } finally {
        service.remove();
      }
      tell(fault.name, `not found in ${number(tried)} operations`, fault.found);
      throw new Error(`not found: ${fault.name}; seed ${seed}`);
    },
    LONGEST_MS,
  );

  /** @param main the faulty service's, where there is one */
  async function judge(
    seconds: number,
    { fault, main }: { readonly fault?: PlantedFault; readonly main?: string },
  ): Promise<Judged> {
    const recorder = new Recorder(join(folder, 'history.jsonl'));
    try {
      const world = await World.start({
        redis: false,
        instances: 2,
        env: ENV,
        main: (place) => (fault?.onOneInstance && place > 0 ? undefined : main),
      });
      try {
        const { faults = [], revocations = 0 } = fault ?? NOTHING_PLANTED;
        const keys = withdrawals(revocations);
        await runHistory(world, recorder, { ...OPTIONS, seed, seconds, faults, keys });
      } finally {
        await world.stop();
      }
    } finally {
      await recorder.close();
    }
    return { entries: recorder.entries, violations: check(recorder.entries, PATIENCE).violations };
  }
});

function isOperation(entry: HistoryEntry): boolean {
  return 'outcome' in entry || entry.kind === 'receive' || entry.kind === 'closed';
}

function operations(entries: readonly HistoryEntry[]): number {
  return entries.filter(isOperation).length;
}

/** When it could be told. */
function shownAt({ entries }: Violation): number {
  return Math.max(...entries.map(({ ended }) => ended));
}

function withoutIds(text: string): string {
  return text.replaceAll(/[0-9a-f-]{12,}|\d+/g, '…');
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
