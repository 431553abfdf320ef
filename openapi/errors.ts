import { ERROR_STATUS, type ErrorCode } from '../src/platform/errors/oauth-error.js';
import type { Json } from './sources.js';

interface Told {
  readonly when: string;
  /** An answer as it may be. */
  readonly example: string;
}

/** Descriptions of the error codes. */
const ERRORS: Readonly<Record<ErrorCode, Told>> = {
  invalid_request: {
    when: 'A parameter is missing, malformed, repeated or too long, or the body is neither a JSON object nor a form.',
    example: 'the body is not valid JSON',
  },
  invalid_client: {
    when: 'The identity provider does not accept the credentials that it was configured with.',
    example: 'the provider does not accept the client credentials',
  },
  invalid_grant: {
    when: 'The code, the state or the refresh token is unknown, used or expired, or does not belong to what came with it.',
    example: 'state is unknown, used or expired',
  },
  server_error: {
    when: 'Something failed on the server’s side. With `Retry-After` where trying again makes sense: the database, or another service that must be asked, is away.',
    example: 'the database is unavailable',
  },
  invalid_token: {
    when: 'The bearer token is absent, malformed, forged, expired or was ended.',
    example: 'an access token is needed, as a bearer token',
  },
  access_denied: {
    when: 'The identity provider knows the user, who may not sign in here: suspended, not covered by the setting `allow`, or refused by a service of the application.',
    example: 'this account may not sign in',
  },
  invalid_dpop_proof: {
    when: 'The DPoP proof is missing where the session is bound to a key, or is not good for this call.',
    example: 'the DPoP proof is not good for this call',
  },
  invalid_target: {
    when: 'The resource is unknown, or was not given once, or the client gets no tokens for a resource.',
    example: 'resource must be one of protected_resources in the metadata',
  },
  invalid_scope: {
    when: 'A program may ask for none of these scopes, or has not been granted them.',
    example: 'scope has more than was granted',
  },
  unauthorized_client: {
    when: 'A program that acts for a user cannot use this way to a token.',
    example: 'programs of third parties cannot use this grant',
  },
  identity_in_use: {
    when: 'The identity is that of another user, which is not joined.',
    example: 'the identity is that of another user',
  },
  interaction_required: {
    when: 'In a redirect only: a program has asked for an answer without a page.',
    example: 'the person must answer a question',
  },
  authorization_pending: {
    when: 'The request of the device waits for a decision (RFC 8628 §3.5).',
    example: 'the request waits for a decision',
  },
  expired_token: {
    when: 'The device code is unknown, used or expired (RFC 8628 §3.5).',
    example: 'the device code is unknown, used or expired',
  },
  insufficient_user_authentication: {
    when: 'The user must sign in again before this call (RFC 9470 §3).',
    example: 'sign in again, and then approve within five minutes',
  },
  insufficient_scope: {
    when: 'The token is good, but lacks the right to make this call.',
    example: 'this call needs a service key with the right, or a role with it: support',
  },
  not_found: {
    when: 'There is no such path, user or device.',
    example: 'there is no such device',
  },
  method_not_allowed: { when: 'The path has other methods.', example: 'this path has other methods' },
  payload_too_large: {
    when: 'The body is larger than 64 KiB, under `/oauth2/` and for logout tokens 20 KiB, at `POST /push/batch` 1 MiB.',
    example: 'the body must not be larger than 64 KiB',
  },
  unsupported_media_type: {
    when: 'The body is compressed; only `POST /push` and `POST /push/batch` accept that.',
    example: 'this Content-Encoding is not accepted here',
  },
  slow_down: { when: 'Too many requests.', example: 'too many requests' },
  unsupported_grant_type: {
    when: 'Neither `authorization_code` nor `refresh_token`.',
    example: 'grant_type must be authorization_code or refresh_token',
  },
};

/** Header of an error. `server_error` has it only if a retry makes sense. */
const HEADER: Readonly<Partial<Record<ErrorCode, keyof typeof HEADERS>>> = {
  invalid_token: 'WWW-Authenticate',
  insufficient_scope: 'WWW-Authenticate',
  insufficient_user_authentication: 'WWW-Authenticate',
  method_not_allowed: 'Allow',
  slow_down: 'Retry-After',
  server_error: 'Retry-After',
};
const HEADERS = {
  'WWW-Authenticate': { schema: { type: 'string' }, description: 'Which token is needed (RFC 6750 §3).' },
  Allow: { schema: { type: 'string' }, description: 'The methods that the path has.' },
  'Retry-After': { schema: { type: 'integer' }, description: 'Seconds.' },
} as const;

/** @returns codes by status, in the order of the table of errors */
export function byStatus(codes: ReadonlySet<ErrorCode>): Map<number, ErrorCode[]> {
  const all = (Object.keys(ERROR_STATUS) as ErrorCode[]).filter((code) => codes.has(code));
  const statuses = new Map<number, ErrorCode[]>(all.map((code) => [ERROR_STATUS[code], []]));
  for (const code of all) statuses.get(ERROR_STATUS[code])!.push(code);
  return statuses;
}

/** @returns an OpenAPI response for codes of one status, with JSON and perhaps other `content` */
export function errorResponse(codes: readonly ErrorCode[], content: Json = {}): Json {
  const headers = codes.flatMap((code) => HEADER[code] ?? []);
  const required = codes.every((code) => HEADER[code] && code !== 'server_error');
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].when}`).join('\n\n'),
    headers:
      headers.length > 0
        ? Object.fromEntries(headers.map((name) => [name, { required, ...HEADERS[name] }]))
        : undefined,
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error', properties: { error: { enum: codes } } },
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: { error: code, error_description: ERRORS[code].example } }]),
        ),
      },
      ...content,
    },
  };
}

/** The schema of every error. */
export const ERROR: Json = {
  type: 'object',
  required: ['error', 'error_description'],
  additionalProperties: false,
  properties: {
    error: { type: 'string', enum: Object.keys(ERROR_STATUS), description: 'The code, for programs.' },
    error_description: {
      type: 'string',
      pattern: String.raw`^[\x20-\x21\x23-\x5B\x5D-\x7E]+$`,
      description: 'For people: fixed text that holds nothing of the request.',
    },
    merged_into: {
      type: 'string',
      format: 'uuid',
      description: 'Of `not_found`: the user whom a former user is part of now.',
    },
    identity: {
      type: 'object',
      additionalProperties: false,
      required: ['provider', 'username', 'email'],
      properties: {
        provider: { type: 'string' },
        username: { type: ['string', 'null'] },
        email: { type: ['string', 'null'] },
      },
      description: 'Of `identity_in_use`: the identity of the other user.',
    },
    merge_token: {
      type: 'string',
      description: 'Of `identity_in_use`: for POST /me/identities/merge, by this session.',
    },
  },
};
