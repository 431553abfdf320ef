import type { ReactNode } from 'react';
import type { User } from '../api/types.js';

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });
const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** Days after which a time is shown as a date. */
const RECENT = 14;

/** A time, as distance from now; exact in its title. */
export function When({ at, never = 'never' }: { at: string | null; never?: string }): ReactNode {
  if (at === null) return <span className="soft">{never}</span>;
  const time = new Date(at);
  return (
    <time dateTime={at} title={exact.format(time)}>
      {distance(time)}
    </time>
  );
}

function distance(time: Date): string {
  const seconds = (time.getTime() - Date.now()) / 1000;
  if (Math.abs(seconds) > RECENT * 86_400) return date.format(time);
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  return unit ? relative.format(Math.round(seconds / unit[1]), unit[0]) : 'just now';
}

/** A user's name in whatever script; without a name, the e-mail address or the provider's id. */
export function nameOf({
  username,
  email,
  provider_user_id,
}: Pick<User, 'username' | 'email' | 'provider_user_id'>): string {
  return username?.trim() || email || provider_user_id;
}

/** A picture, or the first letter of a name. */
export function Avatar({ user, isLarge = false }: { user: User; isLarge?: boolean }): ReactNode {
  const [letter = '?'] =
    new Intl.Segmenter().segment(nameOf(user))[Symbol.iterator]().next().value?.segment ?? '?';
  return (
    <span className={isLarge ? 'face large' : 'face'} aria-hidden="true">
      {letter.toUpperCase()}
      {user.avatar_url && (
        <img
          src={user.avatar_url}
          alt=""
          loading="lazy"
          referrerPolicy="no-referrer"
          onError={({ currentTarget }) => (currentTarget.hidden = true)}
        />
      )}
    </span>
  );
}
