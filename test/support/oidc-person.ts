/** A person who signs in at the provider with a browser: follows redirects, keeps cookies, gives a login when asked. */
export class Person {
  private readonly cookies = new Map<string, string>();

  constructor(private readonly login: string) {}

  /** @returns the address of the callback with code, state and iss; nobody has to listen there */
  async authorize(page: string): Promise<URL> {
    const { origin } = new URL(page);
    let url = new URL(page);
    for (let steps = 0; url.origin === origin && steps < 10; steps++) {
      if (url.pathname.startsWith('/interaction/')) url.searchParams.set('login', this.login);
      const response = await this.fetch(url);
      const location = response.headers.get('Location');
      if (!location) throw new Error(`${url.pathname} answered ${response.status}: ${await response.text()}`);
      url = new URL(location, url);
    }
    return url;
  }

  /** Signs out at the provider, which then tells its clients. Resolves once it has told them. */
  async logOut(issuer: string): Promise<void> {
    const page = await this.fetch(`${issuer}/session/end`);
    const [, xsrf = ''] = /name="xsrf" value="(\w+)"/.exec(await page.text()) ?? [];
    const body = new URLSearchParams({ xsrf, logout: 'yes' });
    const done = await this.fetch(`${issuer}/session/end/confirm`, { method: 'POST', body });
    if (done.status >= 400) throw new Error(`the provider answered ${done.status}: ${await done.text()}`);
  }

  /** Like fetch, with the cookies of this person's browser, and without following redirects. */
  async fetch(url: URL | string, more: RequestInit = {}): Promise<Response> {
    const headers = { ...(more.headers as Record<string, string>), Cookie: this.cookieHeader() };
    const response = await fetch(url, { ...more, redirect: 'manual', headers });
    for (const cookie of response.headers.getSetCookie()) this.keep(cookie);
    return response;
  }

  cookie(name: string): string | undefined {
    return this.cookies.get(name);
  }

  private cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  private keep(cookie: string): void {
    const [pair = ''] = cookie.split(';');
    const [name = '', ...value] = pair.split('=');
    this.cookies.set(name, value.join('='));
  }
}
