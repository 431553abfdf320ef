/** Calls back when the page comes to the foreground or the network returns; returns a function that stops it. */
export function onWake(callback: () => void): () => void {
  const listening = new AbortController();
  if (globalThis.document) {
    for (const event of ['visibilitychange', 'online', 'pageshow']) {
      // Events of the document reach the window too.
      addEventListener(event, () => document.hidden || callback(), { signal: listening.signal });
    }
  }
  return () => listening.abort();
}
