/** What happens to a good signature while nothing is heard of sign-outs (contract §8). */
export type WhenAway = 'introspect' | 'accept' | 'refuse';

export interface VerifierOptions {
  /** The service's `PUBLIC_URL`, e.g. `https://id.example.com`: issuer and audience of its tokens. */
  issuer: string;
  /** Where the service is reached, if not at `issuer`: e.g. `http://latchkey:3000` inside a cluster. */
  url?: string;
  /**
   * One of the service's `SERVICE_KEYS`, with the right `read` (`push` and `users` too, for those calls). Without it only
   * signature and expiry are checked: a signed-out session's last token is accepted until it expires (one hour).
   */
  serviceKey?: string;
  /**
   * What to do while nothing is heard of sign-outs: `introspect` (default) asks the service about each token, and fails with
   * 503 if it cannot; `accept` goes by the signature; `refuse` fails with 503 at once.
   */
  whenAway?: WhenAway;
  /** Seconds by which this machine's clock may be behind or ahead when expiry is judged. Default 0, like the service. */
  clockTolerance?: number;
  /** Gets one line if the stream of sign-outs is lost or the service key is refused, and why. Default: `console.warn`. */
  onWarning?: (message: string) => void;
}

export interface Settings {
  readonly issuer: string;
  /** Without a slash at the end. */
  readonly url: string;
  readonly serviceKey: string | undefined;
  readonly whenAway: WhenAway;
  readonly clockTolerance: number;
  readonly warn: (message: string) => void;
}

const WHEN_AWAY: readonly WhenAway[] = ['introspect', 'accept', 'refuse'];

/** @throws TypeError for a value that cannot be right: at the start, and not at the first request */
export function readOptions(options: VerifierOptions): Settings {
  const { serviceKey, whenAway = 'introspect', clockTolerance = 0 } = options;
  const issuer = webAddress('issuer', options.issuer);
  if (issuer !== new URL(issuer).origin) throw new TypeError('issuer must be an origin: no path, no query');
  if (!WHEN_AWAY.includes(whenAway)) throw new TypeError(`whenAway must be one of ${WHEN_AWAY.join(', ')}`);
  if (!(clockTolerance >= 0 && clockTolerance <= 300))
    throw new TypeError('clockTolerance must be 0 to 300 seconds');
  // Of an environment variable that is not set, most likely: sign-outs would not be heard of, and nobody would know.
  if ('serviceKey' in options && serviceKey === undefined)
    throw new TypeError(
      'serviceKey is undefined: set it, or leave it out to check signature and expiry only',
    );
  // The text is not repeated in the error: it may be a key with a line's end.
  if (serviceKey !== undefined && !/^[\x21-\x7e]+$/.test(serviceKey))
    throw new TypeError('serviceKey must be printable ASCII without spaces');
  return {
    issuer,
    url: options.url === undefined ? issuer : webAddress('url', options.url),
    serviceKey,
    whenAway,
    clockTolerance,
    warn: warningsTo(options.onWarning),
  };
}

/** A listener that throws (`logger.warn`, torn from its logger) ends neither the stream nor, unhandled, the process. */
function warningsTo(listener: VerifierOptions['onWarning']): Settings['warn'] {
  const toConsole = (message: string): void => console.warn(`@latchkey/server: ${message}`);
  if (!listener) return toConsole;
  return (message) => {
    try {
      listener(message);
    } catch {
      toConsole(message);
    }
  };
}

function webAddress(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username;
  if (!isPlain) throw new TypeError(`${name} must be an http(s) address without query and user info`);
  return url.href.replace(/\/+$/, '');
}
