/** An HTTP answer of the provider. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as JSON; undefined when it is not JSON. */
  readonly body: unknown;
}

/** Reason for an unusable answer. */
export interface NoAnswer {
  readonly problem: string;
  /** Whether the provider could not be reached at all. */
  readonly away: boolean;
}

export type Reply = Answer | NoAnswer;

export function isAnswer(reply: Reply): reply is Answer {
  return 'status' in reply;
}

/** The body's members; undefined when it is not a JSON object. */
export function membersOf({ body }: Answer): Record<string, unknown> | undefined {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return isObject ? (body as Record<string, unknown>) : undefined;
}

/** The `error` of an error's body (spec §7.1). */
export function errorOf(answer: Answer): string | undefined {
  const error = membersOf(answer)?.['error'];
  return typeof error === 'string' && error !== '' ? error : undefined;
}

/** Whether the provider accepted: a status of success, and no error. */
export function isSuccess(reply: Reply): reply is Answer {
  return isAnswer(reply) && reply.status >= 200 && reply.status < 300 && errorOf(reply) === undefined;
}

/** A reply in a few words, without anything that may be secret: no descriptions, no values of the identity. */
export function describe(reply: Reply): string {
  if (!isAnswer(reply)) return reply.problem;
  const error = errorOf(reply);
  if (error !== undefined)
    return `${reply.status} ${/^[a-z_]{1,40}$/.test(error) ? error : 'with an error that is not a code'}`;
  if (reply.body === undefined) return `${reply.status} without a JSON body`;
  return `${reply.status} with ${isSuccess(reply) ? 'an identity' : 'JSON that has no error'}`;
}
