import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Serves pages and scripts from memory, at `http://localhost:<port>`. */
export class Pages {
  /** What is served, by path: scripts where it ends with `.js`, else pages. */
  readonly at = new Map<string, string>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Pages> {
    const server = createServer((request, response) => {
      const path = request.url!.split('?')[0]!;
      const text = pages.at.get(path);
      const type = path.endsWith('.js') ? 'text/javascript' : 'text/html';
      response.writeHead(text === undefined ? 404 : 200, { 'Content-Type': `${type}; charset=utf-8` });
      response.end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const pages = new Pages(server, `http://localhost:${(server.address() as AddressInfo).port}`);
    return pages;
  }

  /** A page with this in its `#root`, and a script of its own. */
  put(path: string, script: string, html = ''): void {
    const file = `${path === '/' ? '/index' : path}.js`;
    this.at.set(file, script);
    this.at.set(
      path,
      `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>App</title><div id="root">${html}</div><script type="module" src="${file}"></script></html>`,
    );
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
