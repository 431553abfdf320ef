/**
 * What the user's browser does in the flow of stock OAuth clients: from the client's authorization URL to the
 * provider's page, from there, as `user`, to the service's callback, and back to the client.
 * @param answered what the provider adds to the callback: the stub makes the code's text the user's id
 * @returns the client's redirect URI, with what the service has added to it
 */
export async function browse(
  authorizationUrl: URL,
  user: string,
  answered: Record<string, string> = { code: user },
): Promise<URL> {
  const page = await redirectOf(authorizationUrl);
  const callback = new URL(page.searchParams.get('redirect_uri')!);
  const state = page.searchParams.get('state')!;
  callback.search = new URLSearchParams({ ...answered, state }).toString();
  return redirectOf(callback);
}

async function redirectOf(url: URL): Promise<URL> {
  const answer = await fetch(url, { redirect: 'manual' });
  const to = answer.headers.get('location');
  if (to === null) throw new Error(`no redirect, but ${answer.status} ${await answer.text()}`);
  return new URL(to);
}
