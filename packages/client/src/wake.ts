/**
 * Calls back when the page comes to the foreground or the network returns; returns a function that stops it. `focus` is the only
 * event if the device slept with the page in view, and the network came back before the page noticed.
 */
export function onWake(callback: () => void): () => void {
  const listening = new AbortController();
  if (globalThis.document) {
    for (const event of ['visibilitychange', 'online', 'pageshow', 'focus']) {
      // Events of the document reach the window too. The network returns for hidden pages as well.
      const wake = (): void => void ((document.hidden && event !== 'online') || callback());
      addEventListener(event, wake, listening);
    }
  }
  return () => listening.abort();
}
