/**
 * Runs work that must end within a time. After it, the signal of the deadline aborts.
 * @throws an error with the code ETIMEDOUT
 */
export async function within<T>(
  milliseconds: number,
  work: (deadline: AbortController) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController(); // creates its signal on first use; most work needs none
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`timed out after ${milliseconds} ms`), { code: 'ETIMEDOUT' }));
      deadline.abort();
    }, milliseconds);
  });
  try {
    return await Promise.race([work(deadline), late]);
  } finally {
    clearTimeout(timer);
  }
}
