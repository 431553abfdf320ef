import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Circus } from '@jest/types';
import type { JestEnvironment } from '@jest/environment';
import type { Failure, Order, Report } from './orders.js';

/*
 * The `testRunner` of Jest for the mutations: loads one spec as jest-circus does, and then runs its tests again and again, as
 * main.ts orders through the process's channel. Each run begins with the spec's own `beforeAll`, so with a service and a
 * database of its own; what the modules hold stays, but for mutants that are part of loading a module.
 */

interface JestCircus {
  default: object;
  run: () => Promise<unknown>;
  getState: () => Circus.State;
  addEventHandler: (handler: unknown) => void;
}
interface Runtime {
  requireInternalModule(path: string): unknown;
  unstable_importModule(path: string): Promise<unknown>;
  requireModule(path: string): unknown;
  setGlobalsForRuntime(globals: object): void;
  restoreAllMocks(): void;
  registries: { esModuleRegistry: Map<string, unknown> };
}
interface Switch {
  activeMutants?: ReadonlySet<string> | undefined;
  took?: Set<string>;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

const ADAPTER = join(dirname(require.resolve('jest-circus')), 'jestAdapterInit.js');
const EXPECT = require.resolve('@jest/expect', { paths: [dirname(require.resolve('jest-circus'))] });
/** The global by which the instrumented sources know which mutants are active, and tell which were reached. */
const STRYKER = '__stryker__';
const HIT_LIMIT = 100_000;

export default async function runSpec(
  _globalConfig: object,
  config: { rootDir: string },
  environment: JestEnvironment,
  runtime: Runtime,
  testPath: string,
): Promise<never> {
  const active: Switch = { mutantCoverage: { static: {}, perTest: {} } };
  Object.assign(environment.global, { [STRYKER]: active });
  let onEvent: (event: Circus.Event) => void = () => undefined;
  const theirs = environment.handleTestEvent?.bind(environment);
  environment.handleTestEvent = async (event: Circus.Event, state: Circus.State) => {
    await theirs?.(event as Circus.AsyncEvent, state);
    onEvent(event);
  };
  const circus = runtime.requireInternalModule(require.resolve('jest-circus')) as JestCircus;
  const { run, getState, addEventHandler } = circus;
  const { jestExpect: expect } = runtime.requireInternalModule(EXPECT) as { jestExpect: object };
  const adapter = runtime.requireInternalModule(ADAPTER) as { eventHandler: unknown };
  addEventHandler(adapter.eventHandler); // for expect.assertions
  addEventHandler(environment.handleTestEvent);
  const globals = { ...circus.default, expect };
  runtime.setGlobalsForRuntime(globals);
  Object.assign(environment.global, globals);
  const rejections = new Map<unknown, unknown>();
  process
    .removeAllListeners('uncaughtException')
    .on('uncaughtException', (error) => void state.unhandledErrors.push(error));
  process
    .removeAllListeners('unhandledRejection')
    .on('unhandledRejection', (error, promise) => void rejections.set(promise, error));
  process.on('rejectionHandled', (promise) => void rejections.delete(promise));
  const state = getState();
  const root = state.rootDescribeBlock;
  let tests: Circus.TestEntry[] = [];
  let modes = new Map<Circus.TestEntry | Circus.DescribeBlock, Circus.BlockMode | undefined>();

  /** Modules of this repository that are loaded. */
  function ours(): string[] {
    const isOurs = (url: string): boolean =>
      url.startsWith(`file://${config.rootDir}/`) && !url.includes('/node_modules/');
    return [...runtime.registries.esModuleRegistry.keys()].filter(isOurs);
  }

  /** @param others to load as well, of which the spec itself loads some only while its tests run */
  async function load(others: readonly string[] = []): Promise<void> {
    for (const url of ours()) runtime.registries.esModuleRegistry.delete(url);
    Object.assign(root, { children: [], tests: [], hooks: [] });
    Object.assign(state, { currentDescribeBlock: root, hasStarted: false, hasFocusedTests: false });
    await runtime.unstable_importModule(testPath);
    for (const url of others) await runtime.unstable_importModule(fileURLToPath(url));
    modes = new Map();
    tests = [...entriesUnder(root)];
    for (const entry of modes.keys()) {
      if (entry.type === 'test') Object.assign(entry, { timeout: undefined });
      else for (const hook of entry.hooks) Object.assign(hook, { timeout: undefined });
    }
  }

  function* entriesUnder(block: Circus.DescribeBlock): Generator<Circus.TestEntry> {
    modes.set(block, block.mode);
    for (const child of block.children) {
      if (child.type === 'describeBlock') yield* entriesUnder(child);
      else {
        modes.set(child, child.mode);
        yield child;
      }
    }
  }

  /**
   * Runs tests until one has failed, and returns that.
   * @param wanted all, when undefined
   * @param failures if it is given, all are run, and those that fail are added to it
   */
  async function runTests(
    wanted: ReadonlySet<number> | undefined,
    limitMs: number,
    failures?: Failure[],
  ): Promise<Failure | undefined> {
    let failure: Failure | undefined;
    const isWanted = (test: Circus.TestEntry): boolean => !wanted || wanted.has(tests.indexOf(test));
    for (const [entry, mode] of modes) entry.mode = mode;
    const needed = new Set<Circus.DescribeBlock>();
    for (const test of tests) {
      Object.assign(test, { errors: [], status: null });
      test.unhandledRejectionErrorByPromise.clear();
      if (!isWanted(test)) test.mode = 'skip';
      else
        for (let block: Circus.DescribeBlock | undefined = test.parent; block; block = block.parent)
          needed.add(block);
    }
    for (const entry of modes.keys())
      if (entry.type === 'describeBlock' && !needed.has(entry)) entry.mode = 'skip';
    state.unhandledErrors = [];
    rejections.clear();
    state.testTimeout = limitMs;
    onEvent = (event) => {
      if (event.name === 'test_start') active.currentTestId = String(tests.indexOf(event.test));
      if (event.name === 'run_describe_start' || event.name === 'test_skip') active.currentTestId = 'hooks';
      if (event.name !== 'test_done') return;
      active.currentTestId = 'hooks';
      if (event.test.errors.length === 0 || failure) return;
      const found = { test: tests.indexOf(event.test), error: textOf(event.test.errors[0]) };
      if (failures) {
        failures.push(found);
        return;
      }
      failure = found;
      for (const test of tests) test.mode = 'skip'; // the rest need not run
    };
    active.currentTestId = 'hooks';
    await run();
    onEvent = () => undefined;
    active.currentTestId = undefined;
    runtime.restoreAllMocks();
    environment.fakeTimersModern?.useRealTimers();
    state.unhandledErrors.push(...rejections.values());
    if (!failure && state.unhandledErrors.length > 0) {
      failure = { test: -1, error: textOf(state.unhandledErrors[0]) };
      failures?.push(failure);
    }
    return failure;
  }

  async function obey(order: Order): Promise<Report> {
    if (order.kind === 'dry') {
      const durations: number[] = [];
      await load();
      await runTests(undefined, order.limitMs, []);
      // Once more, with all that was loaded on the way, before any test: what loading reaches is then told apart.
      const { mutantCoverage } = active;
      for (const reached of Object.values(mutantCoverage!))
        for (const key of Object.keys(reached)) delete reached[key];
      await load(ours());
      const failures: Failure[] = [];
      await runTests(undefined, order.limitMs, failures);
      for (const test of tests) durations.push(test.duration ?? 0);
      const { static: loading, perTest } = active.mutantCoverage!;
      const idle = tests.flatMap(({ mode }, index) => (mode === 'skip' || mode === 'todo' ? [index] : []));
      return {
        failures,
        names: tests.map(nameOf),
        durations,
        idle,
        loading: Object.keys(loading),
        hooks: Object.keys(perTest['hooks'] ?? {}),
        tests: tests.map((_, index) => Object.keys(perTest[index] ?? {})),
      };
    }
    if (tests.length === 0 && !order.reload) await load();
    const took = new Set<string>();
    Object.assign(active, { activeMutants: new Set(order.mutants), took, hitCount: 0, hitLimit: HIT_LIMIT });
    try {
      if (order.reload) await load();
    } catch (error) {
      active.activeMutants = undefined;
      tests = [];
      return { failure: { test: -2, error: textOf(error) }, took: [...took], looped: false };
    }
    if (tests.length === 0) throw new Error('no tests');
    const failure = await runTests(order.tests && new Set(order.tests), order.limitMs);
    const looped = (active.hitCount ?? 0) > HIT_LIMIT;
    active.activeMutants = undefined;
    return {
      failure: failure ?? (looped ? { test: -3, error: 'hit limit' } : undefined),
      took: [...took],
      looped,
    };
  }

  process.on('message', (order: Order) => {
    void obey(order)
      .catch((error: unknown): Report => ({
        failure: { test: -2, error: textOf(error) },
        took: [],
        looped: false,
      }))
      .then((report) => process.send?.(report));
  });
  process.once('disconnect', () => process.exit(0));
  if (!process.connected) process.exit(0);
  process.send?.('loaded');
  return new Promise<never>(() => undefined);
}

function nameOf(test: Circus.TestEntry): string {
  const names: string[] = [test.name];
  for (let block = test.parent; block.parent; block = block.parent) names.unshift(block.name);
  return names.join(' ');
}

function textOf(thrown: unknown): string {
  const error: unknown = Array.isArray(thrown) ? (thrown[0] ?? thrown[1]) : thrown;
  return String((error as Error | undefined)?.stack ?? error).slice(0, 1500);
}
