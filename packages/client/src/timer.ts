/** Calls back once, after some seconds; returns a function that cancels it. In Node, does not keep the process alive. */
export function after(seconds: number, callback: () => void): () => void {
  const timer = setTimeout(callback, seconds * 1000);
  (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer);
}

export function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => after(seconds, resolve));
}

/** Seconds to wait after so many failures in a row: doubled each time, up to `longest`, and spread by half. */
export function backoff(failures: number, longest: number): number {
  return Math.min(longest, 2 ** failures) * (1 - Math.random() / 2);
}
