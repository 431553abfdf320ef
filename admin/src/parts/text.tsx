import type { ReactNode } from 'react';
import type { User } from '../api/types.js';
import { LOCALE } from './locale.js';

const exact = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'medium' });
const date = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' });
const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** Days from now within which a time is shown as a distance. */
const NEAR = 14;

/** A time as its distance from now, exact in its title; or exact. */
export function When({
  at,
  never = 'never',
  isExact = false,
}: {
  at: string | null;
  never?: string;
  isExact?: boolean;
}): ReactNode {
  if (at === null) return <span className="soft">{never}</span>;
  const time = new Date(at);
  return (
    <time dateTime={at} title={exact.format(time)}>
      {isExact ? exact.format(time) : distance(time)}
    </time>
  );
}

function distance(time: Date): string {
  const seconds = (time.getTime() - Date.now()) / 1000;
  if (Math.abs(seconds) > NEAR * 86_400) return date.format(time);
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  return unit ? relative.format(Math.trunc(seconds / unit[1]), unit[0]) : 'just now';
}

/** A user's name in any script; without a name, the e-mail address or the provider's id. */
export function nameOf({
  username,
  email,
  provider_user_id,
}: Pick<User, 'username' | 'email' | 'provider_user_id'>): string {
  return username?.trim() || email || provider_user_id;
}

/** The initials. The host of a picture would see the address of the administrator. */
export function Avatar({ user, isLarge = false }: { user: User; isLarge?: boolean }): ReactNode {
  const words = nameOf(user).split(/\s+/, 2);
  const initials = words.map((word) => [...new Intl.Segmenter().segment(word)][0]?.segment ?? '');
  return (
    <span className={isLarge ? 'face large' : 'face'} aria-hidden="true">
      {initials.join('').toUpperCase()}
    </span>
  );
}

/** Browser and operating system, as far as they are known. */
export function programOf({
  browser,
  os,
}: {
  browser?: string | null | undefined;
  os?: string | null | undefined;
}): string {
  return browser && os ? `${browser} on ${os}` : (browser ?? os ?? 'Unknown browser');
}
