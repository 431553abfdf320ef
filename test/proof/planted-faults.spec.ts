import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needs } from '../support/installed.js';
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
import type { FaultName } from './world/nemesis.js';
import { World } from './world/world.js';

/** What the first history, a short one, does not show may show in a longer one. */
const SECONDS = [4, 20, 60, 180];
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
const WORDS = process.env['FAULT'] ?? '';
const CHOSEN = PLANTED_FAULTS.filter(({ name }) => name.includes(WORDS));

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

interface Plan {
  readonly fault?: PlantedFault;
  /** The faulty service's. */
  readonly main?: string;
  /** What is done to the world before its clients come. */
  readonly prepare?: (world: World) => Promise<void>;
  /** What is done while they are there, if it is not the planted fault's. */
  readonly faults?: readonly FaultName[];
}

function tell(what: string, figure: string, wanted: string): void {
  reportFigure({ part: 'planted-histories', what, figure, wanted });
}

/** Whether the checker of recorded histories finds what it has to: in histories of a service with a fault. */
describe('planted in the compiled service', () => {
  const inFull = needs({ 'npm run test:proof': isFull, Linux: process.platform === 'linux' }).it;
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
      try {
        await mustFind(fault, (seconds) => judge(seconds, { fault, main: service.main }));
      } finally {
        service.remove();
      }
    },
    LONGEST_MS,
  );

  const loss = {
    name: 'the standby that takes over has missed six seconds',
    found: 'acknowledged and gone',
  } as const;
  (loss.name.includes(WORDS) ? inFull : needs({ 'FAULT with other words': false }).it)(
    `not in the service: ${loss.name}: it is found`,
    async () => {
      const prepare = (world: World): Promise<void> => world.postgres.leaveStandbyBehind();
      const faults: FaultName[] = ['service-frozen', 'failover']; // at the beginning, and after half of the time
      await mustFind(loss, () => judge(12, { prepare, faults }));
    },
    LONGEST_MS,
  );

  /** Tells after how many operations it was found. @throws Error where it is not, in histories that grow longer */
  async function mustFind(
    { name, found: rule }: Pick<PlantedFault, 'name' | 'found'>,
    history: (seconds: number) => Promise<Judged>,
  ): Promise<void> {
    let tried = 0;
    for (const seconds of SECONDS) {
      const { entries, violations } = await history(seconds);
      const found = violations.filter((violation) => violation.rule === rule);
      if (found.length > 0) {
        const first = found.toSorted((a, b) => shownAt(a) - shownAt(b))[0]!;
        const until = operations(entries.filter(({ ended }) => ended <= shownAt(first)));
        const figure = `${rule}: ${withoutIds(first.text)}; after ${number(tried + until)} operations`;
        return tell(name, figure, rule);
      }
      tried += operations(entries);
    }
    tell(name, `not found in ${number(tried)} operations`, rule);
    throw new Error(`not found: ${name}; seed ${seed}`);
  }

  async function judge(seconds: number, { fault, main, prepare, ...nemesis }: Plan): Promise<Judged> {
    const recorder = new Recorder(join(folder, 'history.jsonl'));
    try {
      const world = await World.start({
        redis: fault?.redis ?? false,
        instances: 2,
        env: ENV,
        main: (place) => (fault?.onOneInstance && place > 0 ? undefined : main),
      });
      try {
        await prepare?.(world);
        const { faults = [], revocations = 0 } = fault ?? { ...NOTHING_PLANTED, ...nemesis };
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
