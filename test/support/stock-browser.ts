/**
 * What the user's browser does in the flow of stock OAuth clients (contract §4): from the client's authorization URL to the
 * provider's page, from there, as `user`, to the service's callback, and back to the client.
 * @returns the client's redirect URI, with what the service has added to it
 */
export async function browse(authorizationUrl: URL, user: string): Promise<URL> {
  const page = await redirectOf(authorizationUrl);
  const callback = new URL(page.searchParams.get('redirect_uri')!);
  callback.searchParams.set('code', user); // the stub provider makes the code's text the user's id
  callback.searchParams.set('state', page.searchParams.get('state')!);
  return redirectOf(callback);
}

async function redirectOf(url: URL): Promise<URL> {
  const answer = await fetch(url, { redirect: 'manual' });
  const to = answer.headers.get('location');
  if (to === null) throw new Error(`no redirect, but ${answer.status} ${await answer.text()}`);
  return new URL(to);
}
