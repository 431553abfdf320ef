/**
 * Calls back once. In Node.js the timer does not keep the process alive.
 * @returns a function that cancels the call
 */
export function after(seconds: number, callback: () => void): () => void {
  const timer = setTimeout(callback, seconds * 1000);
  (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer);
}

/**
 * Measures the age of something, in milliseconds. The device's clock may be set back, and the monotonic one may stop during a sleep: the
 * larger difference is right.
 */
export function makeStopwatch() {
  let reading: readonly [age: number, date: number, monotonic: number] = [0, 0, 0];
  const passed = (): readonly [date: number, monotonic: number] => [
    Date.now() - reading[1],
    performance.now() - reading[2],
  ];
  return {
    set: (age: number): void => void (reading = [age, Date.now(), performance.now()]),
    age: (): number => reading[0] + Math.max(...passed()),
    /** By how much the device's clock was set back since the last `set`; negative after a sleep. */
    setBack: (): number => passed()[1] - passed()[0],
  };
}

export function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => after(seconds, resolve));
}

/** Returns the seconds to wait after consecutive failures: doubled each time up to `longest`, reduced by up to half at random. */
export function backoff(failures: number, longest: number): number {
  return Math.min(longest, 2 ** failures) * (1 - Math.random() / 2);
}

/**
 * Calls back when the page becomes visible or the network returns. `focus` is the only event if the device slept with the page
 * in view and the network returned before the page noticed.
 * @returns a function that stops listening
 */
export function onWake(callback: () => void): () => void {
  const listening = new AbortController();
  if (globalThis.document) {
    for (const event of ['visibilitychange', 'online', 'pageshow', 'focus']) {
      // The network returns for hidden pages, too.
      const wake = (): void => void ((document.hidden && event !== 'online') || callback());
      // In the capture phase, before the page's own listeners, which may stop the event. Not `focus`: those of elements come by there.
      addEventListener(event, wake, { signal: listening.signal, capture: event !== 'focus' });
    }
  }
  return () => listening.abort();
}
