import { types } from 'node:util';
import { askedOf, ProviderRefusal } from '../transport/provider-answer.js';
import { isAway } from '../transport/provider-away.js';
import { Unsupported, UnsupportedProvider } from './unsupported.js';

/**
 * An error of openid-client without its causes: they hold bodies, claims and tokens, and errors are logged with all their
 * causes. Only the library's fixed texts are kept.
 */
export function withoutSecrets(error: unknown): Error {
  if (error instanceof UnsupportedProvider) return error;
  const words: string[] = [];
  let known: string | undefined; // why it is away, if it is (provider-away.ts)
  let at: unknown = error;
  while (types.isNativeError(at)) {
    if (isAway({ code: code(at) })) known ??= code(at);
    if (at instanceof Unsupported || at instanceof ProviderRefusal) return at;
    const said = at.message || code(at);
    if (at.name !== 'SyntaxError' && !words.includes(said)) words.push(said); // the parser quotes what it could not read
    at = at.cause;
  }
  const asked = askedOf(error);
  return Object.assign(
    new Error(words.join(': ') || 'unknown error'),
    known !== undefined && { code: known },
    asked !== undefined && { asked },
  );
}

/** The code of a failed connection, whose message may be empty. */
function code(error: Error & { code?: unknown }): string {
  return typeof error.code === 'string' ? error.code : error.name;
}
