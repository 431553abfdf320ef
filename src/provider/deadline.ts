/**
 * Runs work that must end within a time. After it, the signal of the deadline aborts.
 * @throws an error with the code ETIMEDOUT
 */
export async function within<T>(ms: number, work: (deadline: AbortController) => Promise<T>): Promise<T> {
  const deadline = new AbortController(); // creates its signal on first use; most work needs none
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`timed out after ${ms} ms`), { code: 'ETIMEDOUT' }));
      deadline.abort();
    }, ms);
  });
  try {
    return await Promise.race([work(deadline), late]);
  } finally {
    clearTimeout(timer);
  }
}
