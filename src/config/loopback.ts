/** The three spellings of this machine that allow-lists know (RFC 8252 §7.3), as part of a regular expression. */
export const LOOPBACK_HOST = String.raw`(?:127\.0\.0\.1|\[::1\]|localhost)`;

/** Whether the host of an absolute URL is this machine: the three spellings, or any other of 127.0.0.0/8. */
export function isLoopbackUrl(url: string): boolean {
  return /^(127(\.\d{1,3}){3}|\[::1\]|localhost)$/.test(new URL(url).hostname);
}
