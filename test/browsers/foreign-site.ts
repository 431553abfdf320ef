import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Pages that ask what a browser allows, at two sites: each is foreign to the other. */
export class ForeignSite {
  private constructor(private readonly server: Server) {}

  static async start(): Promise<ForeignSite> {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
      response.setHeader('Content-Type', 'text/html');
      if (pathname === '/cookie') response.setHeader('Set-Cookie', 'plain=1; Path=/');
      if (pathname === '/isolated') response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.end(
        `<title>${pathname}</title><p>${request.headers.cookie ?? 'no cookie'}</p><a href="/next">next</a>
        ${searchParams.has('frame') ? `<iframe src="${searchParams.get('frame')}"></iframe>` : ''}
        ${pathname === '/unasked' ? `<script>window.opened = !!open('/', '', 'popup')</script>` : ''}`,
      );
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    return new ForeignSite(server);
  }

  get here(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get there(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
