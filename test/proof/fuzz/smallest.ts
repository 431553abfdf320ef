const MOST_TRIES = 400;

/** A piece of the input that still breaks it, found by leaving out ever smaller pieces (delta debugging). */
export async function smallest<Input extends string | Buffer>(
  input: Input,
  breaks: (candidate: Input) => Promise<boolean>,
): Promise<Input> {
  let best = input;
  let tries = 0;
  for (let size = best.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < best.length && tries < MOST_TRIES;) {
      const candidate = without(best, at, at + size) as Input;
      tries++;
      if (await breaks(candidate)) best = candidate;
      else at += size;
    }
  }
  return best;
}

function without(input: string | Buffer, from: number, to: number): string | Buffer {
  if (typeof input === 'string') return input.slice(0, from) + input.slice(to);
  return Buffer.concat([input.subarray(0, from), input.subarray(to)]);
}
