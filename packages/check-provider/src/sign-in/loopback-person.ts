import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CannotRun } from '../cannot-run.js';
import { invitation, type Person, type Return } from './person.js';

/**
 * A person whose browser comes back to this machine (RFC 8252 §7.3). The person opens one address only: after each sign-in
 * the browser's request is held until the next authorization address is known, and answered with a redirect to that.
 */
export class LoopbackPerson implements Person {
  private address: URL | undefined;
  private arrived: ((back: Return) => void) | undefined;
  private open: ServerResponse | undefined;
  private readonly seen = new Set<string>();
  private signIns = 0;

  private constructor(
    private readonly server: Server,
    private readonly origin: string,
    private readonly planned: number,
    private readonly wait: number,
    private readonly say: (line: string) => void,
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      this.receive(request, response),
    );
  }

  /** Listens on a free port of the loopback address. @param wait seconds for each sign-in */
  static async listen(planned: number, wait: number, say: (line: string) => void): Promise<LoopbackPerson> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', () => reject(new CannotRun('cannot listen on 127.0.0.1')));
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    return new LoopbackPerson(server, `http://127.0.0.1:${port}`, planned, wait, say);
  }

  get redirectUri(): string {
    return `${this.origin}/callback`;
  }

  async signIn(address: URL): Promise<Return> {
    this.address = address;
    if (++this.signIns === 1) this.say(`${invitation(this.planned)}\nOpen in a browser: ${this.origin}/`);
    else this.say(`Sign-in ${this.signIns}: your browser goes on by itself.`);
    const back = new Promise<Return>((resolve) => (this.arrived = resolve));
    if (this.open) redirect(this.open, address);
    this.open = undefined;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const nobody = new CannotRun(`nobody came back from the login page within ${this.wait} s`);
      timer = setTimeout(() => reject(nobody), this.wait * 1000);
    });
    return Promise.race([back, late]).finally(() => clearTimeout(timer));
  }

  async leave(): Promise<void> {
    if (this.open) page(this.open, 'Done. You can close this page: the report is in the terminal.');
    this.server.closeIdleConnections();
    const closed = new Promise((resolve) => this.server.close(resolve));
    setTimeout(() => this.server.closeAllConnections(), 500).unref(); // a client may never read the last page
    await closed;
  }

  private receive(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    const { url = '/', method = 'GET' } = request;
    const wasHere = this.seen.has(url); // the browser reloaded the page, or went back to it
    if (url === '/' || wasHere) {
      if (this.address) redirect(response, this.address);
      else page(response, 'Nothing to do here.');
    } else if (url === '/favicon.ico' || !this.arrived) {
      response.writeHead(404).end();
    } else {
      this.seen.add(url);
      this.open = response;
      this.arrived({ url: this.origin + url, method });
      this.arrived = undefined;
    }
  }
}

const HEADERS = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', Connection: 'close' };

function redirect(response: ServerResponse, { href }: URL): void {
  response.writeHead(303, { ...HEADERS, Location: href }).end(); // 303: the browser sends a GET
}

function page(response: ServerResponse, text: string): void {
  response.writeHead(200, { ...HEADERS, 'Content-Type': 'text/html; charset=utf-8' });
  response.end(`<!doctype html><title>check-provider</title><p style="font: 1.2em system-ui">${text}</p>`);
}
