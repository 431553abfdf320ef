/** The application of the tests, as browsers see it. */
export const APP = 'https://app.example';

type Handle = (request: Request) => Promise<Response | undefined>;

/** A browser that keeps cookies as RFC 6265bis has it, as far as `__Host-` cookies need it. */
export class CookieBrowser {
  readonly cookies = new Map<string, string>();
  /** All `Set-Cookie` headers so far. */
  readonly received: string[] = [];

  /** @param basePath of the application */
  constructor(
    private readonly handle: Handle,
    private readonly basePath = '',
  ) {}

  /** A request to the application, with cookies; headers replace a navigation's. */
  request(path: string, headers: Record<string, string> = {}, method = 'GET'): Request {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const own = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', ...(cookie && { cookie }) };
    return new Request(new URL(path, APP), { method, headers: { ...own, ...headers } });
  }

  async visit(path: string, headers?: Record<string, string>, method?: string): Promise<Response> {
    const response = (await this.handle(this.request(path, headers, method))) ?? new Response('a page');
    for (const header of response.headers.getSetCookie()) this.take(header);
    return response;
  }

  /** A form or a script of the application. */
  post(path: string): Promise<Response> {
    return this.visit(path, { 'sec-fetch-site': 'same-origin', origin: APP }, 'POST');
  }

  /** Begins a sign-in, and goes to provider and service. @returns the address of the callback, not visited yet */
  async untilCallback(returnTo?: string, more = ''): Promise<string> {
    const query = returnTo === undefined ? '' : `&returnTo=${encodeURIComponent(returnTo)}`;
    const begun = await this.visit(`${this.basePath}/auth/sign-in?provider=stub${query}${more}`);
    let address = begun.headers.get('location')!;
    for (let hops = 0; !address.startsWith(APP) && hops < 5; hops++) {
      const answer = await fetch(address, { redirect: 'manual' });
      await answer.body?.cancel();
      address = new URL(answer.headers.get('location')!, address).href;
    }
    return address;
  }

  /** Signs in. @returns the answer of the callback */
  async signIn(returnTo?: string): Promise<Response> {
    return this.visit(await this.untilCallback(returnTo));
  }

  private take(header: string): void {
    this.received.push(header);
    const [pair, ...attributes] = header.split('; ');
    const [name, value] = pair!.split('=', 2) as [string, string];
    const isHost = ['Path=/', 'Secure'].every((one) => attributes.includes(one)) && !/domain/i.test(header);
    if (name.startsWith('__Host-') && !isHost) return; // RFC 6265bis §5.7
    if (header.length > 4096) return;
    if (attributes.includes('Max-Age=0')) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
