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
  /** Makes a picture of lines, in a square of 24. @param path `d` of its path */
  readonly icon: (path: string) => SVGElement;
  /**
   * Replaces the content of an element by a shadow root, which keeps the page's styles out; every Content Security Policy allows its
   * constructed style sheet.
   */
  readonly mount: (place: Element, style: string, language: string) => ShadowRoot;
}
