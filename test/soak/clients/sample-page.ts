const PAGE = '/providers/mock/oauth2/authorize';

/** Path and query of the sample provider's authorization page (spec §4.5.1). */
export function pagePath(redirectUri: string, state: string): string {
  const query = new URLSearchParams({ client_id: 'latchkey', redirect_uri: redirectUri, state });
  return `${PAGE}?${query.toString()}`;
}

/** What the page's form sends back. @throws where the page has none */
export function csrfTokenOf(page: string): string {
  const found = /name="csrf_token" value="([^"]+)"/.exec(page)?.[1];
  if (found === undefined) throw new Error('the page of the sample provider has no form');
  return found;
}
