import { useSyncExternalStore, type ReactNode } from 'react';

/** Milliseconds for which a message is shown. */
const SHOWN = 6000;

let text = '';
let timer: ReturnType<typeof setTimeout>;
const watchers = new Set<() => void>();

function set(next: string): void {
  text = next;
  for (const notify of watchers) notify();
}

/** Shows, and has screen readers say, what has just been done. */
export function say(done: string): void {
  clearTimeout(timer);
  set(done);
  timer = setTimeout(set, SHOWN, '');
}

function watch(notify: () => void): () => void {
  watchers.add(notify);
  return () => void watchers.delete(notify);
}

export function Toast(): ReactNode {
  const shown = useSyncExternalStore(watch, () => text);
  return (
    <p className="notice toast" role="status">
      {shown}
    </p>
  );
}
