import type { Json } from './operation.js';

/** Headers that routes read, by their names in lower case; `Authorization` and `DPoP` are security schemes. */
export const HEADER_PARAMETERS: Readonly<Record<string, Json>> = {
  'user-agent': {
    name: 'User-Agent',
    in: 'header',
    required: false,
    description: 'Stands for `user_agent` where the body has none.',
    schema: { type: 'string' },
  },
  'idempotency-key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'For 24 hours the same key with the same body gets the first answer again, and nothing is sent twice; with another body it is refused.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  'last-event-id': {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'The last `id` that was received: the stream goes on after it.',
    schema: { type: 'string' },
  },
};

/** Headers of answers. */
export const ANSWER_HEADERS: Readonly<Record<string, Json>> = {
  'Cache-Control': { description: 'How long it may be kept.', schema: { type: 'string' } },
  Location: { description: 'Where the browser goes.', schema: { type: 'string' } },
  ETag: { description: 'Names this state of it: for `If-None-Match`.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } },
  'X-Accel-Buffering': { description: 'Asks nginx to pass each event on at once.', schema: { const: 'no' } },
};
