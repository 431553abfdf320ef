import { inTurn } from './in-turn.js';

it('answers a burst with two requests, and each question with an answer that began after it', async () => {
  const answers: ((answer: number) => void)[] = [];
  const ask = inTurn(() => new Promise<number>((resolve) => answers.push(resolve)));
  const first = ask();
  const burst = Array.from({ length: 20 }, () => ask());
  expect(answers).toHaveLength(1);
  answers[0]!(1);
  expect(await first).toBe(1);
  await new Promise(setImmediate);
  expect(answers).toHaveLength(2);
  const later = ask(); // while the second is under way
  answers[1]!(2);
  expect(await Promise.all(burst)).toEqual(Array<number>(20).fill(2));
  await new Promise(setImmediate);
  answers[2]!(3);
  expect(await later).toBe(3);
  await new Promise(setImmediate);
  void ask();
  expect(answers).toHaveLength(4);
});

it('goes on after a failure, which is told to those who asked for that answer', async () => {
  const outcomes = [Promise.reject(new Error('first')), Promise.resolve('second')];
  const ask = inTurn(() => outcomes.shift()!);
  const first = ask();
  const second = ask();
  await expect(first).rejects.toThrow('first');
  expect(await second).toBe('second');
});
