/** Answers of a service with a week of work, for the pictures of the administration page. Names and numbers are made up. */

const HOUR = 3_600_000;
const now = Date.now();
const ago = (hours: number): string => new Date(now - hours * HOUR).toISOString();
const id = (n: number): string => `${n.toString(16).padStart(8, '0')}-4a1c-4d2e-9b3f-6c7d8e9fa0b1`;

const hours = Array.from({ length: 168 }, (_, index) => {
  const time = new Date(Math.floor(now / HOUR) * HOUR - (167 - index) * HOUR);
  const isWeekend = time.getDay() % 6 === 0;
  const day = Math.max(0, Math.sin(((time.getHours() - 6) / 16) * Math.PI)) * (isWeekend ? 0.4 : 1);
  const noise = (index * 37) % 29;
  const attack = index === 154 ? 96 : 0;
  return {
    hour: time.toISOString(),
    sign_ins: Math.round(day * 540 + noise * (1 + day)),
    refusals: Math.round(day * 24 + noise / 4 + attack),
  };
});

/** By error, of the last hour. */
const refused = {
  counts: [
    { key: 'cancelled', attempts: 31, people: 27 },
    { key: 'invalid_grant', attempts: 14, people: 9 },
    { key: 'access_denied', attempts: 6, people: 4 },
  ],
  since: new Date(0).toISOString(),
  until: new Date(now).toISOString(),
};

const overview = {
  hours,
  refusals: [
    { error: 'cancelled', count: 188 },
    { error: 'invalid_grant', count: 121 },
    { error: 'access_denied', count: 42 },
    { error: 'server_error', count: 9 },
  ],
  users: 48_213,
  users_online: 1284,
  live_sessions: 93_071,
  providers: [
    {
      name: 'google',
      label: 'Google',
      last_success_at: ago(0.004),
      last_failure_at: ago(1.2),
      last_error: 'access_denied',
    },
    {
      name: 'corp',
      label: 'Example Corp',
      last_success_at: ago(0.02),
      last_failure_at: ago(26),
      last_error: 'server_error',
    },
    { name: 'github', label: 'GitHub', last_success_at: ago(0.1), last_failure_at: null, last_error: null },
  ],
};

const browsers = [
  ['Chrome 156', 'Windows 10/11'],
  ['Safari 26', 'iOS 26'],
  ['Firefox 153', 'Linux'],
] as const;
const sessions = browsers.map(([browser, os], n) => ({
  session_id: id(100 + n),
  device_id: id(200 + n),
  provider: 'corp',
  created_at: ago(20 + 75 * n),
  last_used_at: ago(0.01 + n * 3.3),
  expires_at: ago(n === 0 ? -0.4 : -24 * (29 - 3 * n)),
  idle_expires_at: n === 0 ? ago(-0.4) : null,
  ends_because: ['idle', 'lifetime', 'session_expiry'][n]!,
  bound: true,
  auth_time: null,
  address: ['203.0.113.24', '2001:db8:4a1c::17', '198.51.100.7'][n]!,
  user_agent: null,
  browser,
  os,
  online: n === 0,
}));
const devices = sessions.map(({ device_id, created_at, last_used_at, ...rest }, n) => ({
  ...rest,
  device_id,
  device_name: ['Work laptop', 'Phone', 'Workshop'][n]!,
  created_at,
  last_seen_at: last_used_at,
  signed_in: true,
}));
const USER = id(7);
const user = {
  user_id: USER,
  provider: 'corp',
  provider_user_id: '00u7f3k2b9',
  username: 'Katherine Johnson',
  email: 'katherine@example.com',
  avatar_url: null,
  claims: { roles: ['editor', 'billing'], plan: 'team' },
  suspended_at: null,
  created_at: ago(24 * 90),
  last_seen_at: ago(0.01),
  online: true,
  live_sessions: sessions.length,
  devices,
  sessions,
};
const claims = {
  claims: { roles: ['billing'], plan: 'team' },
  provider_claims: { roles: ['editor'], groups: ['research'] },
  effective: { roles: ['editor', 'billing'], groups: ['research'], plan: 'team' },
};

/** The view of a user. */
export const USER_VIEW = `/admin/users/${USER}`;

/** By path. */
export const ADMIN_ANSWERS: Readonly<Record<string, object>> = {
  '/admin/overview': overview,
  [`/users/${USER}`]: user,
  [`/users/${USER}/claims`]: claims,
  '/admin/trail': { events: [] },
  '/audit/counts': refused,
};
