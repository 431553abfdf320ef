import type { EventName } from '../channel/channel-events.js';
import type { Device, Latchkey, RefusedProgram } from '../latchkey.js';
import type { FirstAccountTexts } from '../texts/account/account-texts.js';

/** The first pages of the user's devices, newest use first. */
export interface DevicePages {
  readonly devices: readonly Device[];
  /** Whether there are further pages. */
  readonly isMore: boolean;
  /** Programs that the user may allow again. */
  readonly refused: readonly RefusedProgram[];
}

/** What replaces the placeholders of a text. */
export type Values = Readonly<Record<string, string | Node>>;

/** A row of a list. */
export interface Row<Shown> {
  readonly element: HTMLElement;
  /** Called each time that the list is shown. */
  readonly show?: (shown: Shown) => void;
}

/**
 * What the components share. It is passed to them, since they are separate files: a module that two of them import would be another file.
 */
export interface Kit {
  readonly client: Latchkey;
  readonly texts: FirstAccountTexts;
  /** Loads pages of 100 devices. @param most number of pages */
  readonly pages: (most: number) => Promise<DevicePages>;
  /** Waits for a module that is loaded. @throws LatchkeyError `network` */
  readonly orNetworkError: <Module>(loading: Promise<Module>) => Promise<Module>;
  /** Makes an element. Strings become text, never HTML. */
  readonly make: <Name extends keyof HTMLElementTagNameMap>(
    name: Name,
    properties?: Partial<HTMLElementTagNameMap[Name]>,
    ...children: (Node | string)[]
  ) => HTMLElementTagNameMap[Name];
  /**
   * Replaces the placeholders of a text. A string is isolated by `bdi`: a name, which anybody may have chosen, cannot change the direction
   * of what is beside it.
   */
  readonly filled: (text: string, values: Values) => (string | Node)[];
  /**
   * Makes a list of rows by keys. A row that stays is not touched: it keeps what is typed, the focus, and a click that has begun. Its
   * neighbour takes the focus of a row that goes.
   * @returns a function that shows things by their keys
   */
  readonly keyed: <Shown>(
    list: HTMLElement,
    makeRow: (key: string, shown: Shown) => Row<Shown>,
  ) => (things: ReadonlyMap<string, Shown>) => void;
  /** Runs an action of an element once at a time; `disabled` would take the focus away. @returns undefined if one runs */
  readonly busy: <Result>(by: HTMLElement, action: () => Promise<Result>) => Promise<Result | undefined>;
  /** Acts once the user's channel is open, if there is one, and at each of the events. @returns a function that ends it */
  readonly follow: (events: readonly EventName<{}>[], act: () => void) => () => void;
  /** Makes a picture of lines, in a square of 24. @param path `d` of its path */
  readonly icon: (path: string) => SVGElement;
  /**
   * Replaces the content of an element by a shadow root, which keeps the page's styles out; every Content Security Policy allows its
   * constructed style sheet.
   */
  readonly mount: (place: Element, style: string, language: string) => ShadowRoot;
}

export const make: Kit['make'] = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

export const filled: Kit['filled'] = (text, values) =>
  text.split(/\{(\w+)\}/).map((part, index) => {
    if (index % 2 === 0) return part;
    const value = values[part] ?? '';
    return typeof value === 'string' ? make('bdi', {}, value) : value.cloneNode(true); // a text may have it twice
  });

export const keyed: Kit['keyed'] = (list, makeRow) => {
  const rows = new Map<string, ReturnType<typeof makeRow>>();
  return (things) => {
    const root = list.getRootNode() as ShadowRoot;
    const focused = [...list.children].findIndex((row) => row.contains(root.activeElement));
    for (const [key, { element }] of rows) {
      if (things.has(key)) continue;
      element.remove();
      rows.delete(key);
    }
    [...things].forEach(([key, thing], index) => {
      const row = rows.get(key) ?? makeRow(key, thing);
      rows.set(key, row);
      row.show?.(thing);
      if (!row.element.parentNode) list.insertBefore(row.element, list.children[index] ?? null);
    });
    if (focused < 0 || root.activeElement) return;
    const next = list.children[focused] ?? list.lastElementChild;
    next?.querySelector<HTMLElement>('button:not([hidden])')?.focus();
  };
};

export const busy: Kit['busy'] = async (by, action) => {
  if (by.ariaBusy) return undefined;
  by.ariaBusy = by.ariaDisabled = 'true';
  try {
    return await action();
  } finally {
    by.ariaBusy = by.ariaDisabled = null;
  }
};

export function followChannel(client: Latchkey, ...[events, act]: Parameters<Kit['follow']>): () => void {
  let offs: (() => void)[] = [];
  let isOver = false;
  const follow = async (): Promise<void> => {
    const channel = await client.connect();
    if (isOver) return;
    offs = events.map((event) => channel.on(event, act));
    act(); // what was loaded before the channel was ready lacks what happened in between
  };
  follow().catch(() => undefined); // the list is that of now
  return () => {
    isOver = true;
    for (const off of offs) off();
  };
}

export const icon: Kit['icon'] = (path) => {
  const [picture, line] = ['svg', 'path'].map((name) =>
    document.createElementNS('http://www.w3.org/2000/svg', name),
  ) as [SVGElement, SVGElement];
  picture.setAttribute('viewBox', '0 0 24 24');
  picture.setAttribute('aria-hidden', 'true');
  line.setAttribute('d', path);
  picture.append(line);
  return picture;
};

export const mount: Kit['mount'] = (place, style, language) => {
  const host = make('div', { lang: language, dir: /^(ar|he)\b/.test(language) ? 'rtl' : '' });
  const root = host.attachShadow({ mode: 'open' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [sheet];
  place.replaceChildren(root.host);
  return root;
};
