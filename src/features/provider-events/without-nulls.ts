/** Returns an object without its members that are null: serializers write them for absent ones. */
export function withoutNulls(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}
