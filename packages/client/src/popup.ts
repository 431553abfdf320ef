/** The provider's page in a window of its own; one at a time. */
export interface Popup {
  /** Opens an empty one. Browsers do that only as a direct response to a click, and not always. */
  readonly open: () => void;
  /** Shows a page in it; undefined when it did not open. */
  readonly show: (url: string) => Window | undefined;
  readonly close: () => void;
}

/** Whether it was closed nobody can say: `closed` is also true once its page has cut it off (`Cross-Origin-Opener-Policy`). */
export function makePopup(): Popup {
  let popup: Window | null | undefined;
  return {
    open: () => void (popup = window.open('', '', 'popup,width=480,height=640')),
    show(url) {
      if (!popup || popup.closed) return undefined;
      popup.location.replace(url);
      return popup;
    },
    close() {
      popup?.close();
      popup = undefined;
    },
  };
}
