const MOST_TRIES = 400;

/** A piece of the input that still breaks it, found by leaving out ever smaller pieces (delta debugging). */
export async function smallest<Input extends string | Buffer>(
  input: Input,
  breaks: (candidate: Input) => Promise<boolean>,
): Promise<Input> {
  let [best, tries] = [input, 0];
  for (let size = best.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < best.length && tries < MOST_TRIES;) {
      const candidate = without(best, at, at + size);
      tries++;
      if (await breaks(candidate)) best = candidate;
      else at += size;
    }
  }
  return best;
}

function without<Input extends string | Buffer>(input: Input, from: number, to: number): Input {
  const left =
    typeof input === 'string'
      ? input.slice(0, from) + input.slice(to)
      : Buffer.concat([input.subarray(0, from), input.subarray(to)]);
  return left as Input;
}
