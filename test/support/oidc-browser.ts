/** A browser at a provider: keeps cookies, follows redirects until they leave the provider, submits the one form of a page. */
export class OidcBrowser {
  private readonly cookies = new Map<string, string>();

  constructor(private readonly login: string) {}

  /** Where it ends: the page of the provider, or the address outside to which it was sent. */
  async visit(address: string | URL, form?: URLSearchParams): Promise<{ url: URL; page: string }> {
    const { origin } = new URL(address);
    let url = new URL(address);
    let body = form;
    for (let steps = 0; url.origin === origin && steps < 10; steps++) {
      if (url.pathname.startsWith('/interaction/')) url.searchParams.set('login', this.login);
      const cookies = [...this.cookies].map((pair) => pair.join('=')).join('; ');
      const method = body ? 'POST' : 'GET';
      const response = await fetch(url, {
        method,
        redirect: 'manual',
        headers: { Cookie: cookies },
        body: body ?? null,
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
        this.cookies.set(name!, value!);
      }
      const location = response.headers.get('Location');
      if (!location) return { url, page: await response.text() };
      [url, body] = [new URL(location, url), undefined];
    }
    return { url, page: '' };
  }

  /** Submits the form of a page, hidden members included. @param more what its button adds */
  submit(page: string, more: Record<string, string>): Promise<{ url: URL; page: string }> {
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
    if (action === undefined) throw new Error(`there is no form in ${page}`);
    const members = [...page.matchAll(/<input[^>]* name="(\w+)" value="([^"]*)"/g)].map(
      ([, name, value]) => [name!, value!] as [string, string],
    );
    return this.visit(action, new URLSearchParams([...members, ...Object.entries(more)]));
  }
}
