/** Calls back when the page comes to the foreground or the network returns; returns what stops it. */
export function onWake(callback: () => void): () => void {
  const listening = new AbortController();
  if (globalThis.document) {
    for (const event of ['visibilitychange', 'online', 'pageshow']) {
      // What is heard by the document comes through the window.
      addEventListener(event, () => document.hidden || callback(), { signal: listening.signal });
    }
  }
  return () => listening.abort();
}
