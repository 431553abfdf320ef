import type { Events } from '../channel/events.js';
import type { after } from '../service/timer.js';
import type { Idle } from './idle.js';
import type { Refresher } from './refresher.js';
import type { TokenKeeper } from './tokens.js';

// Loaded only if idle time applies. This file imports nothing: shared code would become a third file.

/** Seconds before the end at which the notice begins. */
const NOTICE = 60;
/** Seconds without an action, after which the first one is reported to the service at once. */
const PAUSE = 60;
/** Part of the idle time after which the service learns of a user who acts all the time: a device may be put away at any moment. */
const PART = 10;
/** Milliseconds between two writes of a tab. */
const WRITES = 5000;
/** Seconds. Timers stop while a computer sleeps, so the clocks are read at least this often. */
const MAX_TIMER = 60;

const ACTIONS = [
  'pointerdown',
  'pointermove',
  'wheel',
  'keydown',
  'touchstart',
  'touchmove',
  'visibilitychange',
];

/** Without a signal, which would keep windows of removed frames. */
const IN_FRAME = { capture: true, passive: true };

/** What the main file passes. */
type Parts = readonly [wait: typeof after, events: Pick<Events, 'on' | 'emit'>];

/**
 * Notices what the user does in this tab, and emits `idle` a minute before the session ends for want of it.
 * @param key of the last action in the storage
 * @returns a function that stops it
 */
export function watchIdle(
  [wait, { on, emit }]: Parts,
  key: string,
  idle: Idle,
  keeper: TokenKeeper,
  { refresh }: Refresher,
): () => void {
  const listening = new AbortController();
  let cancel = (): void => undefined;
  let isShown = false;
  let written = -WRITES;
  let place = '';

  /** To be called after each change of what is known. */
  const update = (): void => {
    cancel();
    idle.check();
    if (listening.signal.aborted) return; // the session has ended
    const left = idle.left();
    const isDue = left <= NOTICE;
    if (isDue !== isShown) {
      isShown = isDue;
      const end = new Date(Date.now() + left * 1000);
      emit('idle', { ends_at: isDue ? end.toISOString() : null });
    }
    cancel = wait(Math.min(MAX_TIMER, isDue ? left : left - NOTICE), update);
  };

  const act = (): void => {
    idle.check(); // the event may be the first one after a sleep
    const { idle_for = 0 } = keeper.get() ?? {};
    const isOften = Math.abs(Date.now() - written) < WRITES;
    if (idle.left() === Infinity || (isOften && !isShown)) return;
    written = Date.now();
    const pause = idle.idleFor();
    idle.acted();
    const unreported = keeper.age() + idle_for;
    if (pause >= PAUSE || unreported >= Math.max(PAUSE, idle.limit() / PART))
      refresh().catch(() => undefined);
  };

  const onEvent = (event: Event): void => {
    if (listening.signal.aborted) return;
    if (event.type === 'visibilitychange') {
      // Frames send this event also when a script loads another page there.
      if (event.target === document && !document.hidden) act();
      return;
    }
    if (!event.isTrusted || (isShown && event.composedPath().some(isNotice))) return;
    if (event.type === 'pointermove') {
      // Browsers report a move also if only the page has moved below a pointer that rests.
      const { screenX, screenY } = event as PointerEvent;
      const before = place;
      place = `${screenX},${screenY}`;
      if (!before || before === place) return;
    }
    act();
  };

  for (const name of ACTIONS)
    addEventListener(name, onEvent, { signal: listening.signal, capture: true, passive: true });
  /** Listens in a frame and the frames inside of it, as often as they are called. Those of another origin throw. */
  const watchFrame = (frame: Window): void => {
    try {
      for (const name of ACTIONS) frame.addEventListener(name, onEvent, IN_FRAME);
      watchFramesOf(frame);
    } catch {
      // its page may call `stay()`
    }
  };
  const watchElement = (element: Partial<HTMLIFrameElement> | null | undefined): void => {
    if (element?.contentWindow) watchFrame(element.contentWindow);
  };
  const onLoad = ({ target }: Event): void => watchElement(target);
  const watchFramesOf = (parent: Window): void => {
    parent.document.addEventListener('load', onLoad, true);
    for (let index = 0; index < parent.length; index++) watchFrame(parent[index]!);
  };
  watchFramesOf(window);
  // The focus goes into a frame, perhaps one in a shadow tree, whose load the document does not get.
  const onBlur = (): void => {
    let active = document.activeElement;
    while (active?.shadowRoot) active = active.shadowRoot.activeElement;
    watchElement(active);
  };
  addEventListener('blur', onBlur, listening);

  const onStorage = (event: StorageEvent): void => {
    if ((event.key ?? key) === key) update();
  };
  addEventListener('storage', onStorage, listening);
  const stops = ['acted', 'change'].map((name) => on(name, update));
  update();

  return () => {
    listening.abort();
    document.removeEventListener('load', onLoad, true);
    cancel();
    for (const stop of stops) stop();
    if (isShown) emit('idle', { ends_at: null });
  };
}

/** Who answers the notice has not acted yet: its buttons say what the user wants. */
function isNotice(target: EventTarget): boolean {
  return (target as Partial<Element>).hasAttribute?.('data-latchkey-idle') === true;
}
