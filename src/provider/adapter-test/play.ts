import type { SeenRequest, SimulatedAnswer } from './simulated-provider.js';

/** What the author's provider does; it is played on loopback, at `provider.url`. */
export interface Play {
  /** Answers a request about a good code. */
  readonly accepted: (request: SeenRequest) => SimulatedAnswer;
  /** Answers a request about a code that is unknown, or was used. */
  readonly refused: (request: SeenRequest) => SimulatedAnswer;
  /** The id of the user whom `accepted` signs in. */
  readonly userId: string;
  /** The other keys of the adapter's settings, if it needs some. */
  readonly options?: (url: string) => Readonly<Record<string, string>>;
  /**
   * Where the provider sends the browser from its page, if that is not `<redirectUri>?code=…&state=…` with the two values of
   * the page's query. It must come to the redirect URI with `state`, and with the code as `code` or, as in CAS, `ticket`.
   */
  readonly callback?: (page: URL, code: string) => URL | string;
  /** The provider's protocol has the code in the address of a request (CAS). Otherwise it belongs into a body. */
  readonly codeInAddress?: boolean;
}
