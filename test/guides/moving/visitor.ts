import { request, type APIRequestContext, type APIResponse } from 'playwright-core';

const HOPS = 20;

/** A person with a browser without scripts: cookies, links and forms. */
export class Visitor {
  private constructor(
    private readonly origin: string,
    private readonly login: string,
    private readonly browser: APIRequestContext,
  ) {}

  /**
   * @param origin of the application
   * @param login what the person tells `OidcIssuer`
   */
  static async arrive(origin: string, login: string): Promise<Visitor> {
    const extraHTTPHeaders = { 'Sec-Fetch-Mode': 'navigate', Origin: origin };
    return new Visitor(origin, login, await request.newContext({ extraHTTPHeaders }));
  }

  /** @returns the page after all redirects */
  async open(path: string): Promise<APIResponse> {
    return this.follow(await this.browser.get(`${this.origin}${path}`, { maxRedirects: 0 }));
  }

  async post(path: string, form: Readonly<Record<string, string>> = {}): Promise<APIResponse> {
    return this.follow(await this.browser.post(`${this.origin}${path}`, { form, maxRedirects: 0 }));
  }

  leave(): Promise<void> {
    return this.browser.dispose();
  }

  private async follow(first: APIResponse): Promise<APIResponse> {
    let answer = first;
    for (let hops = 0; hops < HOPS; hops++) {
      const { location } = answer.headers();
      if (location === undefined) return answer;
      const url = new URL(location, answer.url());
      if (url.pathname.startsWith('/interaction/')) url.searchParams.set('login', this.login);
      answer = await this.browser.get(url.href, { maxRedirects: 0 });
    }
    throw new Error(`no end after ${HOPS} redirects: ${answer.url()}`);
  }
}
