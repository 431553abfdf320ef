export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Whether JSON has a number that readers change in silence: a whole number beyond 2^53 - 1 (RFC 8259 §6,
 * RFC 7493 §2.2), or one too large for any (1e400). Fractions have the precision of a double.
 * @param value without circles
 */
export function hasInexactNumber(value: unknown): boolean {
  const pending = [value];
  while (pending.length > 0) {
    const one = pending.pop();
    if (typeof one === 'number' && isInexact(one)) return true;
    if (typeof one === 'object' && one !== null)
      for (const member of Object.values(one)) pending.push(member);
  }
  return false;
}

function isInexact(value: number): boolean {
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}
