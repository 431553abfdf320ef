import { types } from 'node:util';
import { ResponseBodyError } from 'openid-client';
import { ProviderRefusal } from '../provider-answer.js';

/**
 * An error of openid-client without what hangs on it: its causes hold bodies, claims and tokens, and what has gone
 * wrong is logged with all its causes. What is kept is the fixed words of the library.
 */
export function withoutSecrets(error: unknown): Error {
  if (error instanceof ResponseBodyError) return new ProviderRefusal(error.error, 'the provider answered');
  if (error instanceof ProviderRefusal) return error;
  const words: string[] = [];
  let at: unknown = error;
  while (types.isNativeError(at)) {
    if (at.name !== 'SyntaxError') words.push(at.message || code(at)); // the parser quotes what it could not read
    at = at.cause;
  }
  return new Error(words.join(': ') || 'unknown error');
}

/** Failed connections have one, and sometimes nothing else. */
function code(error: Error & { code?: unknown }): string {
  return typeof error.code === 'string' ? error.code : error.name;
}
