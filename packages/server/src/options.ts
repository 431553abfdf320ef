/** Treatment of a token with a valid signature while sign-outs are not received. */
export type WhenAway = 'introspect' | 'accept' | 'refuse';

/** Options of `createVerifier`: `issuer` is required. */
export interface VerifierOptions {
  /** The service's `PUBLIC_URL`, e.g. `https://id.example.com`: issuer and audience of its tokens. */
  issuer: string;
  /**
   * Which tokens are accepted, if programs of third parties act for your users: those for this `resource` of `AGENTS_FILE`, or for one of a
   * list. An API that your own pages call, too, names `issuer` as well. Default: `issuer` alone, which refuses tokens of such programs.
   */
  audience?: string | readonly string[];
  /** Address of the service, if it is not reached at `issuer`: e.g. `http://latchkey:3000` inside a cluster. */
  url?: string;
  /**
   * One of the service's `SERVICE_KEYS`, with the right `read` (and `push`, `support`, `users` for those calls). Without it only
   * signature and expiry are checked: the last token of a signed-out session is accepted until it expires (one hour).
   */
  serviceKey?: string;
  /**
   * What to do while sign-outs are not received: `introspect` (default) asks the service about each token, and fails with 503 if
   * that is impossible; `accept` relies on the signature; `refuse` fails with 503 at once.
   */
  whenAway?: WhenAway;
  /** Seconds by which this machine's clock may differ in checks of the expiry, at most 300. Default 0, like the service. */
  clockTolerance?: number;
  /** Gets one line if the feed of sign-outs is lost or the service key is refused: the reason and what to do. Default: `console.warn`. */
  onWarning?: (message: string) => void;
}

export interface Settings {
  readonly issuer: string;
  /** Each origin with and without a slash. */
  readonly audience: readonly string[];
  /** Without a slash at the end. */
  readonly url: string;
  readonly serviceKey: string | undefined;
  readonly whenAway: WhenAway;
  readonly clockTolerance: number;
  readonly warn: (message: string) => void;
}

/** All names. */
export const OPTIONS = {
  issuer: true,
  audience: true,
  url: true,
  serviceKey: true,
  whenAway: true,
  clockTolerance: true,
  onWarning: true,
} as const satisfies Record<keyof VerifierOptions, true>;

const WHEN_AWAY: readonly WhenAway[] = ['introspect', 'accept', 'refuse'];

/** @throws TypeError for an invalid value, at the start instead of at the first request */
export function readOptions(options: VerifierOptions): Settings {
  const { serviceKey, whenAway = 'introspect', clockTolerance = 0 } = options;
  const issuer = webAddress('issuer', options.issuer);
  if (issuer !== new URL(issuer).origin) throw new TypeError('issuer must be an origin: no path, no query');
  if (!WHEN_AWAY.includes(whenAway)) throw new TypeError(`whenAway must be one of ${WHEN_AWAY.join(', ')}`);
  if (!(clockTolerance >= 0 && clockTolerance <= 300))
    throw new TypeError('clockTolerance must be 0 to 300 seconds');
  // Most likely an environment variable that is not set: sign-outs would be ignored without a sign of it.
  if ('serviceKey' in options && serviceKey === undefined)
    throw new TypeError(
      'serviceKey is undefined: set it, or leave it out to check signature and expiry only',
    );
  // Without the value, which may be a key with a line break.
  if (serviceKey !== undefined && !/^[\x21-\x7e]+$/.test(serviceKey))
    throw new TypeError('serviceKey must be printable ASCII without spaces');
  return {
    issuer,
    audience: 'audience' in options ? readAudience(options.audience) : [issuer],
    url: options.url === undefined ? issuer : webAddress('url', options.url),
    serviceKey,
    whenAway,
    clockTolerance,
    warn: warningsTo(options.onWarning),
  };
}

/** @throws TypeError also for `undefined`: most likely an environment variable that is not set */
function readAudience(audience: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  if (all.length === 0 || !all.every((one) => typeof one === 'string' && one !== ''))
    throw new TypeError('audience must be a text or a list of texts, none of them empty; or leave it out');
  return all.flatMap((one) => {
    const identifier = resourceId(one as string);
    return isOrigin(identifier) ? [identifier, `${identifier}/`] : [identifier];
  });
}

/** Returns the identifier of an API in the form in which two of them are compared: an origin has no slash. */
export const resourceId = (text: string): string =>
  isOrigin(text.replace(/\/$/, '')) ? text.replace(/\/$/, '') : text;

const isOrigin = (text: string): boolean => /^https?:\/\/[^/?#]+$/.test(text);

/** A listener that throws (an unbound `logger.warn`) must end neither the feed nor the process. */
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

/** @throws TypeError @returns the address without a slash at the end */
export function webAddress(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username;
  if (!isPlain) throw new TypeError(`${name} must be an http(s) address without query and user info`);
  return url.href.replace(/\/+$/, '');
}
