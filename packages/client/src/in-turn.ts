/**
 * Answers many who ask for the same thing with few requests: whoever asks while one is under way waits for the next, which
 * begins after it, together with all others. So a burst costs two, and nobody gets an answer older than the question.
 */
export function inTurn<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let running: Promise<unknown> | undefined;
  let next: Promise<Answer> | undefined;
  const begin = (): Promise<Answer> => {
    next = undefined;
    const answer = ask();
    const mine = (running = answer
      .catch(() => undefined)
      .then(() => void (running === mine && (running = undefined))));
    return answer;
  };
  return () => (running ? (next ??= running.then(begin)) : begin());
}
