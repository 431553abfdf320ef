import { after } from './timer.js';

/** Seconds. */
const LOOK_EVERY = 0.5;

/** The provider's page in a window of its own; one at a time. */
export interface Popup {
  /** Opens an empty one. Browsers do that only as a direct response to a click, and not always. */
  readonly open: () => void;
  readonly isOpen: () => boolean;
  /** Shows a page in it. @param onClosed called when the user closes it */
  readonly show: (url: string, onClosed: () => void) => Window;
  readonly close: () => void;
}

export function makePopup(): Popup {
  let popup: Window | null | undefined;
  let stopWatching = (): void => undefined;

  /** Polls: when a window is closed, no event is sent. */
  const watch = (rounds: number, onClosed: () => void): void => {
    // One more round: before it closed itself, the callback page may have posted a message that is still on its way.
    if (rounds > 1) return onClosed();
    stopWatching = after(LOOK_EVERY, () => watch(popup!.closed ? rounds + 1 : 0, onClosed));
  };

  return {
    open: () => void (popup = window.open('', '', 'popup,width=480,height=640')),
    isOpen: () => !!popup,
    show(url, onClosed) {
      popup!.location.replace(url);
      watch(0, onClosed);
      return popup!;
    },
    close() {
      stopWatching();
      popup?.close();
      popup = undefined;
    },
  };
}
