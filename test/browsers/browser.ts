/** The part of a browser that the tests need; implemented by `puppeteer.ts` and `webkit.ts`. */
export interface Browser {
  /** Name and version, e.g. `Firefox 153.7`. */
  readonly version: string;
  /** Makes an empty profile, which shares nothing with others. */
  newProfile(): Promise<Profile>;
  close(): Promise<void>;
}

export interface Profile {
  /** Opens a tab, which comes to the foreground, and loads a page. */
  open(url: string): Promise<Tab>;
  close(): Promise<void>;
}

/** An element: the first visible one that fits, in open shadow trees as well. */
export interface Target {
  /** A CSS selector. */
  readonly css: string;
  /** What its label or its text has to match. */
  readonly name?: RegExp;
}

/** A document: that of a tab, or of a frame. */
export interface View {
  /** The value of an expression, in JSON; of a promise, what it results in. @throws what the expression throws */
  evaluate<Value>(expression: string): Promise<Value>;
  /** Clicks as a user does, once the element exists. */
  click(target: Target): Promise<void>;
  /** Types as a user does. `\n` is the key Enter. */
  type(target: Target, text: string): Promise<void>;
}

export interface Tab extends View {
  goto(url: string): Promise<void>;
  /** As a user does with the button of the browser. */
  reload(): Promise<void>;
  back(): Promise<void>;
  /** The document in the only frame that the page shows. */
  readonly frame: View;
  /** Presses a key, wherever the focus is. */
  press(key: 'Escape' | 'Enter' | 'Tab'): Promise<void>;
  /** The window that opens while something is done here. */
  popup(action: () => Promise<unknown>): Promise<Tab>;
  /** Puts it into the foreground. */
  focus(): Promise<void>;
  isClosed(): Promise<boolean>;
  close(): Promise<void>;
  /** @param path of a PNG file to write */
  screenshot(path: string): Promise<void>;
}

/** An expression of the page that finds an element, or is null as long as it is not there. */
export function find({ css, name }: Target): string {
  return `(() => {
    const all = (root) => [...root.querySelectorAll('*')].flatMap((one) => [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]);
    const named = (one) => [one.ariaLabel, one.title, one.labels?.[0]?.textContent, one.textContent].join(' ');
    return all(document).find((one) =>
      one.matches(${JSON.stringify(css)}) && one.getClientRects().length && (${name ?? '/^/'}).test(named(one))) ?? null;
  })()`;
}

/** The frame that a page shows. */
export const FRAME: Target = { css: 'iframe' };

/** The browser's button for it: the drivers' own ways back wait for a load, which a page from the cache does not have. */
export const BACK = 'void setTimeout(() => history.back())';
