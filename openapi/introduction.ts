import type { Json } from './sources.js';

export const TITLE = 'Latchkey';

export const TAGS = {
  'Sign-in': 'The authorization code flow and its tokens.',
  'The caller': 'Who the user is, their devices, and signing out: with the access token.',
  'For backends':
    "What an application's own services ask for, with a service key; what concerns users also administrators, with their access token.",
  Discovery: 'What clients learn before they begin.',
  Operations: 'For monitoring, and this document.',
} as const;

export const DESCRIPTION = `Latchkey signs users in at an identity provider and gives applications tokens of its own: a JWT access token that lives for an hour, and a reusable refresh token that lives for 30 days; each device has its own session.

**Errors** are \`{"error", "error_description"}\` everywhere, also where nothing is at a path (404 \`not_found\`) and where a path has other methods (405 \`method_not_allowed\`, with \`Allow\`); those two can come from every address and are not repeated below. \`HEAD\` is answered wherever \`GET\` is, but for sign-ins that redirect; \`OPTIONS\` everywhere.

**Bodies** are JSON objects; under \`/oauth2/\`, and for logout tokens, forms as well. They may have 64 KiB, under \`/oauth2/\` and for logout tokens 20 KiB, at \`POST /push/batch\` 1 MiB, and are not compressed, except at \`POST /push\` and \`POST /push/batch\`. Forms may have 100 parameters, JSON 250 values (any number where a member is any JSON), nested 100 deep; of equal members the last counts. Members that are not declared are ignored, and \`null\` counts as left out; under \`/oauth2/\`, and for logout tokens, so does an empty value.

**Answers** are not to be stored (\`Cache-Control: no-store\`) unless it is said. Each carries \`X-Request-Id\`, which the service's log has too. Times are RFC 3339 in UTC with milliseconds, or seconds since the epoch where OAuth has it so.

**Sockets** are not described here: Socket.IO at the same address, with the access token in \`auth.token\`.`;

export const SECURITY_SCHEMES: Readonly<Record<string, Json>> = {
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'The access token of a session, as `Authorization: Bearer …`. If a right is named with it, the roles of the user must grant the right: `ADMIN_ROLE` grants `users` and `support`, `SUPPORT_ROLE` grants `support`, if it comes from the application or from a provider of `ADMIN_PROVIDERS`.',
  },
  serviceKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'One of `SERVICE_KEYS`, as `Authorization: Bearer …`. The right that the call needs is named with it: `push`, `read`, `support` or `users`, which includes `support`; a key without a named right has all.',
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description:
      'The service key as the password, as it is or percent-encoded; the user name is not looked at.',
  },
  proof: {
    type: 'apiKey',
    in: 'header',
    name: 'DPoP',
    description:
      'A proof of possession (RFC 9449): a JWT of type `dpop+jwt`, signed with ES256, for this call. It binds the session to its key.',
  },
};
