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

export const DESCRIPTION = `Latchkey signs users in at an identity provider, and gives applications tokens: a JWT access token for an hour, and a reusable refresh token for 30 days. Each device has a session.

**Errors** are \`{"error", "error_description"}\`. Every address can answer with 404 \`not_found\`, and with 405 \`method_not_allowed\` and \`Allow\`: these two are not repeated below. \`HEAD\` works like \`GET\`, except for sign-ins that redirect. \`OPTIONS\` works everywhere.

**Bodies** are JSON objects. Under \`/oauth2/\`, and for logout tokens, they may also be forms.

- Size: 64 KiB. Under \`/oauth2/\`, and for logout tokens, 20 KiB; at \`POST /push/batch\` 1 MiB.
- Compressed bodies are accepted at \`POST /push\` and \`POST /push/batch\` only.
- Forms have at most 100 parameters, JSON 250 values in 100 levels. A member that may be any JSON has no limit of values.
- Of equal members, the last one counts. Unknown members are ignored, and \`null\` means absent. Under \`/oauth2/\`, and for logout tokens, an empty value means absent, too.

**Answers** have \`Cache-Control: no-store\`, unless the operation says otherwise, and \`X-Request-Id\`, as in the log. Times are RFC 3339 in UTC with milliseconds. Where OAuth wants them, times are seconds since the epoch.

**Sockets** (Socket.IO at this address, with the access token in \`auth.token\`) are not part of this page.`;

export const SECURITY_SCHEMES: Readonly<Record<string, Json>> = {
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'The access token of a session, as `Authorization: Bearer …`. If a right is named with it, a role of the user must grant the right, as the settings of the service say.',
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
