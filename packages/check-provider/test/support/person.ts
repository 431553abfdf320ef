/** What a person types into a login page. */
export type Credentials = Readonly<Record<string, string>>;

/** Opens an address as a browser does, follows redirects, and gives the last address and its answer. */
async function visit(address: string, init: RequestInit = {}): Promise<{ url: string; response: Response }> {
  const response = await fetch(address, { ...init, redirect: 'manual' });
  const location = response.headers.get('location');
  return location === null ? { url: address, response } : visit(new URL(location, address).href);
}

/** Fills in the form of a login page, hidden fields and all; gives the address that its answer redirects to. */
export async function submitForm(page: string, credentials: Credentials): Promise<string> {
  const html = await (await fetch(page)).text();
  const hidden = [...html.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const body = new URLSearchParams({
    ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])),
    ...credentials,
  });
  const answer = await fetch(page, { method: 'POST', body, redirect: 'manual' });
  const location = answer.headers.get('location');
  if (location === null) throw new Error(`the form was answered with ${answer.status}`);
  return location;
}

/** Signs in at every login page from an address on, until none comes any more; returns the last page's text. */
export async function signInFrom(address: string, credentials: Credentials): Promise<string> {
  const { url, response } = await visit(address);
  const text = await response.text();
  return text.includes('<form') ? signInFrom(await submitForm(url, credentials), credentials) : text;
}
