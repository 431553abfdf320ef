const STRINGS = /"(?:[^"\\]|\\.)*"/g;

/**
 * An object of JSON in which no name comes twice, at any depth: another reader might take the first of the two (RFC 7515 §4).
 * @param text bounded by the caller
 * @returns undefined for anything else
 */
export function parseUnique(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    // Each member has one colon that is not in a string; those that JSON.parse dropped have one, too.
    const colons = text.replace(STRINGS, '').split(':').length - 1;
    return membersOf(value) === colons ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // not JSON, or too deep
  }
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce((sum: number, member) => sum + membersOf(member), 0);
  return Array.isArray(value) ? inside : inside + Object.keys(value).length;
}
