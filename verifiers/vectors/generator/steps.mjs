import { START } from './tokens.mjs';

/** The user's claims that a token has at its top level; all others are members of `claims`. */
const USER = ['roles', 'groups', 'entitlements', 'name', 'email', 'preferred_username', 'claims'];
const DESCRIPTION = { 401: 'invalid_token', 403: 'insufficient_scope' };

export const ms = (seconds) => START + Math.round(seconds * 1000);
export const time = (seconds) => new Date(ms(seconds)).toISOString();

/** Steps of a case; the first parameter is the virtual time, in seconds after the start. */
export const connect = (at, cursor = null) => ({ now: ms(at), do: 'connect', cursor });
/** The cursor is not compared: both the old and the new one are right. */
export const connectAnywhere = (at) => ({ now: ms(at), do: 'connect' });
export const refuseStream = (at, status, cursor = null) => {
  const body = JSON.stringify({ error: DESCRIPTION[status] ?? 'server_error', error_description: 'x' });
  return { now: ms(at), do: 'connect', cursor, status, type: 'application/json', body };
};
export const answer = (at, status, type, headers = {}) => {
  const step = { now: ms(at), do: 'connect', cursor: null };
  return { ...step, status, type, headers, body: '' };
};
export const send = (at, ...bytes) => ({ now: ms(at), do: 'send', bytes });
export const repeat = (at, count, text) => ({ now: ms(at), do: 'repeat', count, text });
export const end = (at) => ({ now: ms(at), do: 'end' });
export const keys = (at, ...kids) => ({ now: ms(at), do: 'keys', keys: kids });
export const noKeys = (at) => ({ now: ms(at), do: 'keys', status: 500 });
export const introspection = (at, status, body) => ({ now: ms(at), do: 'introspection', status, body });
export const state = (at, expect) => ({ now: ms(at), do: 'state', ...expect });
export const any = (at, { name }) => ({ now: ms(at), do: 'verify', token: name, expect: 'any' });

/** @param user the user's claims that replace those of the token, as a token carries them */
export function accepted(at, { name, payload }, user) {
  const claims = { ...payload };
  if (user) for (const member of USER) delete claims[member];
  return { now: ms(at), do: 'verify', token: name, expect: { claims: { ...claims, ...user } } };
}

const STATUS = {
  invalid_token: 401,
  insufficient_scope: 403,
  temporarily_unavailable: 503,
  service_key_refused: 500,
};
/** @param challenge the whole `WWW-Authenticate`; if absent, that of `error` */
export function refused(at, { name }, error = 'invalid_token', challenge) {
  return { now: ms(at), do: 'verify', token: name, expect: { error, status: STATUS[error], challenge } };
}
export const metadata = (path, expect) => ({ now: ms(0), do: 'metadata', path, expect });

/** Blocks of the feed. */
const block = (event, data) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
export const ready = (id) => `event: ready\nid: ${id}\ndata: {}\n\n`;
export const cursor = (id) => `: ${id}\nid: ${id}\n\n`;
export const ended = (session, until = 3600, more = {}) => {
  const ids = { session_id: session, user_id: 'ada', device_id: null };
  return block('ended', { ...ids, ended_at: time(0), until: time(until), ...more });
};
export const keyRevoked = (kid) => block('key_revoked', { kid });
export const claimsChanged = (claims, { at = 0, until = 3600, user = 'ada' } = {}) =>
  block('claims_changed', { user_id: user, claims, changed_at: time(at), until: time(until) });
export const claimsVoided = (at, user = 'ada') =>
  block('claims_voided', { user_id: user, voided_at: time(at) });
