/**
 * The values of a parameter of a form (WHATWG URL §5.1, application/x-www-form-urlencoded). One is undefined where it is not clear
 * what it says: a % without two digits, or bytes that are not UTF-8.
 *
 * @param wanted name in ASCII: one that is not clear is not this one
 */
export function formValues(form: string, wanted: string): (string | undefined)[] {
  const parameters = form.split('&').filter((part) => part !== '');
  const pairs = parameters.map((part) => {
    const equals = part.indexOf('=');
    const [name, value] = equals === -1 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)];
    return [decoded(name), decoded(value)] as const;
  });
  return pairs.filter(([name]) => name === wanted).map(([, value]) => value);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
