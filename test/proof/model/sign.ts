import { stripVTControlCharacters } from 'node:util';

/** What is done after a sequence: all its tokens are tried. */
export const AT_THE_END = 'at the end';

/** A kind of difference between service and model. */
interface Kind {
  readonly kind: string;
  /** In the text of the difference, as Jest writes it, without colours: `-` what the model has, `+` what came. */
  readonly differs: RegExp;
}

/** In what a planted fault has to show. */
export interface Sign extends Kind {
  /** The commands, one of which has to differ from the model. */
  readonly at: readonly string[];
}

/** A body without `error` where one was due, or a token that introspection takes. */
export const SERVED: Kind = {
  kind: 'served, was to be refused',
  differs: /^- +"error": undefined|^- +"active": false/m,
};
export const REFUSED: Kind = {
  kind: 'refused, was to be served',
  differs: /^Expected: not 401|^Expected: 20\d\nReceived: 401|^- +"active": true/m,
};
export const NO_EVENT: Kind = {
  kind: 'an event is missing',
  differs: /^- +"offset": \d|^- +"event": "device\.signed_out"/m,
};
export const STILL_THERE: Kind = {
  kind: 'the device is still there',
  differs: /^\+ +"device_id"|^\+ +"device_name": "removed"|^- +"error": undefined/m,
};
export const ANOTHER_KEY: Kind = {
  kind: 'another key signs',
  differs: /toBeGreaterThanOrEqual|^- +"kid"/m,
};
export const SENT_AGAIN: Kind = {
  kind: 'not the first answer again',
  differs: /^- +"id": "|^- +"error": undefined/m,
};

/**
 * Whether a failure is a difference between service and model of that kind, and not a crash of either, a broken connection or a
 * difference somewhere else.
 */
export function shows({ at, differs }: Sign, command: string, error: unknown): boolean {
  return at.includes(command) && isDifference(error) && differs.test(stripVTControlCharacters(error.message));
}

/** Jest's errors have the two values that were compared; others have none. */
function isDifference(error: unknown): error is Error {
  return error instanceof Error && 'matcherResult' in error;
}
