/**
 * Reads a provider's answer to a code: its JSON object, or an error with a code of spec §7.3. Pure.
 * The content type is not judged, and an error is known by its code whatever the status (contract §3).
 *
 * @param words for providers with codes of their own: the code of spec §7.3 for each
 * @throws ProviderRefusal when the answer has an `error`; any other error when it has none and its status is not 200.
 */
export function readAnswer(
  status: number,
  body: Uint8Array,
  words: ReadonlyMap<unknown, string> = new Map(),
): Readonly<Record<string, unknown>> {
  const answer = readJson(body);
  const error = answer['error'];
  if (error !== undefined && error !== null) {
    throw new ProviderRefusal(words.get(error) ?? error, `the provider answered with status ${status}`);
  }
  if (status !== 200) throw new Error(`the provider answered with status ${status} and no error code`);
  return answer;
}

/**
 * A JSON object in UTF-8. Bytes that are not UTF-8 are refused, since ids are compared byte for byte. The parser's own
 * messages are not passed on: they quote the text, which may hold tokens.
 */
export function readJson(body: Uint8Array): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new Error('the provider answered with something that is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('the provider answered with JSON that is not an object');
  }
  return value as Record<string, unknown>;
}

/** The provider refused; `error` says why, and `Provider` maps it (contract §3). */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';

  /**
   * @param error a code of spec §7.3, or whatever else the provider sent in its place
   * @param what refused, for the log
   */
  constructor(
    readonly error: unknown,
    what: string,
  ) {
    super(
      `${what}: ${typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : 'an unknown error'}`,
    );
  }
}
