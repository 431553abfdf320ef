import type { LatchkeyError } from './latchkey-error.js';
import type { Texts } from './texts.js';

/** Seconds to wait where the answer does not say: limits are per minute (contract §2 `RATE_LIMIT`). */
const A_MINUTE = 60;

/** What a failed sign-in means to the user, and what to do about it: a sentence without codes, in the user's language. */
export function explain({ code, status = 0, retryAfter = A_MINUTE }: LatchkeyError, texts: Texts): string {
  if (code === 'network') return texts.unavailable;
  if (status === 429) return texts.slowDown.replace('{when}', fromNow(retryAfter, texts.language));
  if (status >= 500 || /^(server_error|temporarily_unavailable)$/.test(code)) return texts.trouble;
  if (code === 'access_denied') return texts.denied;
  if (/^invalid_(grant|state)$/.test(code)) return texts.expired;
  if (/^(insecure_context|(invalid|unauthorized)_(client|request))$/.test(code)) return texts.misconfigured;
  return texts.failed;
}

/** E.g. `in 30 seconds`. */
function fromNow(seconds: number, language: string): string {
  const [count, unit] = seconds < 100 ? ([seconds, 'second'] as const) : ([seconds / 60, 'minute'] as const);
  return relative(language).format(Math.ceil(count), unit);
}

/** @param language may be an application's own, so it may be anything, such as `pt_BR` */
function relative(language: string): Intl.RelativeTimeFormat {
  try {
    return new Intl.RelativeTimeFormat(language);
  } catch {
    return new Intl.RelativeTimeFormat();
  }
}
