import { setTimeout as delay } from 'node:timers/promises';
import { isRefresh, overlapping, wrongEvents } from './judgement.js';
import { Random } from '../../test/support/random.js';
import { NOT_NOW, stormSteps, TABS, thaw } from './storm-steps.js';
import type { Seen } from './seen.js';
import { StormWorld } from './storm-world.js';
import type { Tab, Told } from './tab.js';

/** How often all trouble ends, and everything has to be well again. */
const STEPS_TO_CALM = 8;
const LONGEST_CALM_MS = 20_000;
const BACKOFF_EVERY_MS = 1500;
const LONGEST_BACKOFF_MS = 31_000;
const LONGEST_ANSWER_MS = 3000;
/** In the report of a failure. */
const REQUESTS_TOLD = 30;
const MOMENT_MS = 100;
/** Seconds: a token that is good for less is to be replaced, at once or within a minute. */
const FRESH_S = 240;

export interface StormPlan {
  readonly seed: number;
  readonly steps: number;
}

/** Random steps, decided by a seed, and what has to hold all the time. */
export class Storm {
  /** How often each step was done, in the order of the first. */
  readonly counts = new Map<string, number>();
  private readonly got = new Map<Tab, number>();
  /** Milliseconds, of each time that everything had to be well again. */
  readonly calms: number[] = [];
  readonly done: string[] = [];

  private constructor(
    readonly world: StormWorld,
    private readonly plan: StormPlan,
  ) {}

  static async begin(plan: StormPlan): Promise<Storm> {
    const world = await StormWorld.start();
    const storm = new Storm(world, plan);
    try {
      await world.signIn(await world.open());
      await storm.calm();
    } catch (error) {
      await world.close();
      throw error;
    }
    return storm;
  }

  /** Number of refreshes that reached the gate. */
  get refreshes(): number {
    return this.world.gate.seen.filter(isRefresh).length;
  }

  get events(): number {
    return [...this.got.values()].reduce((sum, count) => sum + count, 0);
  }

  get overlaps(): (readonly [Seen, Seen])[] {
    return overlapping(this.world.gate.seen, this.world.timersTime, this.world.freezes);
  }

  /** @throws Error what did not hold, with the seed and the last steps */
  async run(): Promise<void> {
    const random = new Random(this.plan.seed);
    const pick = (below: number): number => random.below(below);
    const steps = stormSteps(this.world, { pick });
    const names = Object.keys(steps);
    while (this.done.length < this.plan.steps) {
      const name = names[pick(names.length)]!;
      if (!(await this.step(name, steps[name]!))) continue;
      this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
      await delay(MOMENT_MS); // in which the application asks
      await this.look();
      const { length } = this.done;
      if (length % STEPS_TO_CALM === 0 || length === this.plan.steps) await this.calm();
    }
  }

  /** @returns whether there was anything to do: else another one is drawn, and it does not count */
  private async step(name: string, work: () => Promise<unknown>): Promise<boolean> {
    this.done.push(name);
    const found = await work().catch((error: unknown) => this.fail(`a step failed: ${String(error)}`));
    if (found === NOT_NOW) this.done.pop();
    return found !== NOT_NOW;
  }

  /** No tab has lost its session. */
  private async look(): Promise<Told[]> {
    const told = await Promise.all(
      this.world.tabs.map(async (tab) => {
        const one = await tab.tell(this.world.key);
        this.got.set(tab, one.got.length);
        return one;
      }),
    );
    for (const { signedOut, bound } of told) {
      if (signedOut.length > 0) this.fail(`signed out: ${signedOut[0]!.reason}`);
      if (!bound) this.fail('the session is gone, or bound no more');
    }
    return told;
  }

  async calm(): Promise<void> {
    const { world } = this;
    await thaw(world);
    for (const tab of world.tabs) if (tab.isHidden) await tab.hide(false);
    while (world.tabs.length < TABS) await world.open();
    const begun = performance.now();
    let waited = begun;
    for (;;) {
      const told = await this.look();
      const wrong = told.map((one) => this.wrongNow(one)).find((one) => one !== undefined);
      const answers = wrong === undefined ? await this.askAll() : [];
      const other = answers.find((answer) => answer !== 200);
      if (wrong === undefined && other === undefined) break;
      const now = performance.now();
      if (now - begun > LONGEST_CALM_MS)
        this.fail(`not well again: ${wrong ?? `the application is answered ${String(other)}`}`);
      if (now - waited > BACKOFF_EVERY_MS) {
        waited = now;
        await world.elapse(LONGEST_BACKOFF_MS, true);
      }
      await delay(50);
    }
    this.calms.push(performance.now() - begun);
    this.judge();
  }

  /** What the application of each tab is answered now. */
  private async askAll(): Promise<unknown[]> {
    const asked = this.world.tabs.map(({ page }) => page.evaluate<unknown>('storm.ask()'));
    return Promise.all(asked.map((answer) => Promise.race([answer, delay(LONGEST_ANSWER_MS, 'nothing')])));
  }

  /** What is not well in a tab yet. @throws Error when it will never be */
  private wrongNow({ connected, first, got, token }: Told): string | undefined {
    const left = this.world.secondsLeft(token);
    if (left < FRESH_S) return `the token is good for ${left.toFixed(0)} s`;
    if (!connected || first === undefined) return 'the channel is not open';
    const wrong = wrongEvents(first, got, this.world.pushed);
    if (wrong && !wrong.startsWith('never')) this.fail(`events ${wrong}`);
    return wrong && `events ${wrong}`;
  }

  private judge(): void {
    const [overlap] = this.overlaps;
    if (overlap) this.fail(`two refreshes at once: ${overlap.map((one) => this.line(one)).join(' and ')}`);
  }

  private fail(what: string): never {
    const { gate, troubles } = this.world;
    const now = Date.now();
    throw new Error(
      [
        what,
        `seed ${this.plan.seed}, after ${this.done.length} steps, the last: ${this.done.slice(-STEPS_TO_CALM - 2).join(', ')}`,
        'requests, with begin and end in milliseconds before now:',
        ...gate.seen.slice(-REQUESTS_TOLD).map((one) => `  ${this.line(one)}`),
        'troubles:',
        ...troubles
          .slice(-REQUESTS_TOLD)
          .map(({ what: name, from, to = now }) => `  ${name} ${from - now} ${to - now}`),
      ].join('\n'),
    );
  }

  private line({ method, path, at, ended, status }: Seen): string {
    const now = Date.now();
    return `${method} ${path} ${at - now} ${ended ? ended - now : ''}: ${status ?? '-'}`;
  }
}
