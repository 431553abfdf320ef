import { Introspection } from '../../src/token/access-tokens/introspection.js';
import { EXAMPLE } from '../examples.js';
import type { Operations } from '../operation.js';
import { Pushed } from '../../src/realtime/push/push.dto.js';

const tag = 'For backends';

const STREAM = `id: 1773480413589-1
event: ended
data: {"session_id":"${EXAMPLE.sessionId}","user_id":"${EXAMPLE.userId}","device_id":null,"ended_at":"${EXAMPLE.time}","until":"${EXAMPLE.time}"}

event: ready
data: {}
`;

export const BACKENDS: Operations = {
  'POST /oauth2/introspect': {
    id: 'introspect',
    tag,
    summary: 'Whether a token is good, and what it says',
    description:
      'RFC 7662. A refresh token is inactive unless `token_type_hint` is `refresh_token`: it must never let anybody in.',
    answers: {
      200: {
        description: 'What the token says, or that it is not active.',
        types: [Introspection],
        examples: {
          'a token that is good': {
            active: true,
            sub: EXAMPLE.userId,
            sid: EXAMPLE.sessionId,
            device_id: EXAMPLE.deviceId,
            jti: EXAMPLE.eventId,
            iat: 1773480413,
            exp: 1773484013,
            iss: EXAMPLE.issuer,
            aud: EXAMPLE.issuer,
            token_type: 'Bearer',
          },
          'any other': { active: false },
        },
      },
    },
    bodies: { 'an access token': { token: EXAMPLE.accessToken } },
    security: [{ basic: ['read'] }],
  },
  'POST /push': {
    id: 'push',
    tag,
    summary: 'Send an event to a user, or to one of their devices',
    description:
      'It waits `ttl` seconds for clients that are not connected. The names that the service itself uses are reserved: those that begin with `device.`, `session.` or `token.`, and `ready`, `authenticate`, `connect`, `connect_error`, `disconnect`, `disconnecting`, `newListener`, `removeListener`, `error`.',
    answers: {
      202: {
        description: 'Stored.',
        types: [Pushed],
        examples: {
          stored: { id: EXAMPLE.eventId, offset: 42, online: true },
          'with a ttl of 0': { id: EXAMPLE.eventId, offset: null, online: true },
        },
      },
    },
    errors: ['not_found'],
    bodies: {
      'an event': { user_id: EXAMPLE.userId, event: 'order.paid', data: { order: 1815, total: '12.50' } },
      'to a device that is connected': {
        user_id: EXAMPLE.userId,
        device_id: EXAMPLE.deviceId,
        event: 'call.incoming',
        ttl: 0,
      },
    },
    parameters: { 'Idempotency-Key': EXAMPLE.idempotencyKey },
  },
  'POST /users/{user_id}/sign-out': {
    id: 'signOutUser',
    tag,
    summary: 'Sign a user out, everywhere or on one device',
    answers: { 204: { description: 'Signed out.' } },
    errors: ['not_found'],
    bodies: { 'one device': { device_id: EXAMPLE.deviceId }, everywhere: {} },
    parameters: { user_id: EXAMPLE.userId },
  },
  'POST /users/sign-out': {
    id: 'signOutProviderUser',
    tag,
    summary: 'Sign a user out of whom only the provider’s id is known',
    answers: { 204: { description: 'Signed out.' } },
    errors: ['not_found'],
    bodies: { 'a user': { provider: EXAMPLE.provider, provider_user_id: EXAMPLE.providerUserId } },
  },
  'DELETE /users/{user_id}': {
    id: 'removeUser',
    tag,
    summary: 'Sign a user out and forget them',
    description: 'With their devices and events. Their next sign-in makes the same user id anew.',
    answers: { 204: { description: 'They are gone.' } },
    errors: ['not_found'],
    parameters: { user_id: EXAMPLE.userId },
  },
  'GET /sessions/ended': {
    id: 'endedSessions',
    tag,
    summary: 'A stream of ended sessions and withdrawn keys',
    description:
      'Server-sent events without end: `ended` for each session that was signed out, `key_revoked` for a key that was withdrawn, `ready` once the past is told, and a comment at least every second. What each carries, and how to resume: docs/ended-sessions.md.',
    answers: {
      200: {
        description: 'Events, one after the other.',
        mediaType: 'text/event-stream',
        schema: { type: 'string' },
        headers: ['X-Accel-Buffering'],
        examples: { beginning: STREAM },
      },
    },
    errors: ['slow_down'],
  },
};
