import { setImmediate as nextTurn } from 'node:timers/promises';
import { isFull, proofMinutes, reportFigure, seed } from '../../support/proof.js';
import { Random } from './random.js';
import { smallest } from './smallest.js';

/** `SEED=… npm run test:proof -- fuzz` makes the same inputs again. */

/** Inputs of the full form are for ten minutes in all; `--minutes` makes more or fewer of them. */
const SCALE = isFull ? (proofMinutes ?? 10) / 10 : 1;

const TURN = 500;
const ENOUGH = 1000;

export type Verdict = 'accepted' | 'refused';

/** What strangers reach, and what must hold for whatever they send. */
export interface Target<Input extends string | Buffer> {
  readonly name: string;
  /** Inputs of the short form, and of the full one: about a minute's worth. */
  readonly short: number;
  readonly full: number;
  /** Inputs that are on their way at the same time; 1 unless it is given. */
  readonly atOnce?: number;
  generate(random: Random): Input;
  /** Called once, when half of the inputs have been judged. */
  halfway?(): Promise<void>;
  /** The oracle. @throws where what was promised does not hold for the input */
  judge(input: Input): Verdict | Promise<Verdict>;
}

/**
 * Tries the inputs of a target, and reports how many there were. At the first that breaks a promise it looks for the smallest one
 * that does, and fails with it.
 * @returns how many there were
 */
export async function fuzz<Input extends string | Buffer>(target: Target<Input>): Promise<number> {
  const { name, short, full, atOnce = 1 } = target;
  const inputs = Math.round((isFull ? full : short) * SCALE);
  process.stdout.write(`  fuzzing ${name}: SEED=${seed}\n`);
  const tally = { accepted: 0, refused: 0 };
  for (let i = 0; i < inputs; i += atOnce) {
    if (i % TURN < atOnce) await nextTurn();
    const some = Array.from({ length: Math.min(atOnce, inputs - i) }, (_, j) =>
      target.generate(new Random(seed, i + j)),
    );
    if (some.length === 1) tally[await verdictOn(target, some[0]!, i)]++;
    else {
      const verdicts = await Promise.all(some.map((input, j) => verdictOn(target, input, i + j)));
      for (const verdict of verdicts) tally[verdict]++;
    }
    if (i < inputs / 2 && i + atOnce >= inputs / 2) await target.halfway?.();
  }
  const count = (number: number): string => number.toLocaleString('en-US');
  reportFigure({
    part: 'fuzzing',
    what: name,
    figure: {
      inputs: count(inputs),
      accepted: count(tally.accepted),
      refused: count(tally.refused),
      seed: String(seed),
      found: '0', // the first would have thrown
    },
    wanted: '0',
  });
  // A target that accepts nothing, or everything, says nothing about its oracle. Of a few inputs that may be chance.
  if (inputs >= ENOUGH) expect(Math.min(tally.accepted, tally.refused)).toBeGreaterThan(0);
  return inputs;
}

async function verdictOn<Input extends string | Buffer>(
  target: Target<Input>,
  input: Input,
  index: number,
): Promise<Verdict> {
  try {
    return await target.judge(input);
  } catch (error) {
    const shortest = await smallest(input, async (candidate) => breaks(target, candidate));
    const facts = [
      `fuzzing ${target.name} has found something (SEED=${seed}, input ${index}): ${(error as Error).message}`,
      `input: ${shown(input)}`,
      `smallest that breaks a promise: ${shown(shortest)}`,
    ];
    throw new Error(facts.join('\n'), { cause: error });
  }
}

async function breaks<Input extends string | Buffer>(target: Target<Input>, input: Input): Promise<boolean> {
  try {
    await target.judge(input);
    return false;
  } catch {
    return true;
  }
}

function shown(input: string | Buffer): string {
  return typeof input === 'string'
    ? JSON.stringify(input)
    : `${input.toString('hex')} (${JSON.stringify(input.toString('latin1'))})`;
}
