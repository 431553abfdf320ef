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
  /** Follows events of the user's channel, if there is one. @returns a function that ends it */
  readonly follow: (events: readonly EventName<{}>[], act: () => void) => () => void;
  /** Makes a picture of lines, in a square of 24. @param path `d` of its path */
  readonly icon: (path: string) => SVGElement;
  /**
   * Replaces the content of an element by a shadow root, which keeps the page's styles out; every Content Security Policy allows its
   * constructed style sheet.
   */
  readonly mount: (place: Element, style: string, language: string) => ShadowRoot;
}
