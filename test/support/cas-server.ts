import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A CAS server, protocol 3: everybody who comes is signed in at once, as `ada`. Tickets are good once, for their service alone. */
export class CasServer {
  readonly requests: string[] = [];
  private readonly tickets = new Map<string, string>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<CasServer> {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://cas');
      it.requests.push(pathname);
      const service = searchParams.get('service') ?? '';
      if (pathname === '/cas/login') {
        const ticket = `ST-${it.tickets.size + 1}-${randomBytes(20).toString('base64url')}-cas`;
        it.tickets.set(ticket, service);
        // Behind what is there already, as the protocol has it (§2.2.4).
        const location = `${service}${service.includes('?') ? '&' : '?'}ticket=${ticket}`;
        response.writeHead(302, { Location: location }).end();
        return;
      }
      const isValidation = pathname === '/cas/p3/serviceValidate' && searchParams.get('format') === 'JSON';
      response.writeHead(isValidation ? 200 : 404, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(it.validate(searchParams.get('ticket') ?? '', service)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const it = new CasServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/cas`);
    return it;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private validate(ticket: string, service: string): object {
    const of = this.tickets.get(ticket);
    this.tickets.delete(ticket); // whatever comes of it (§2.5)
    const code = of === undefined ? 'INVALID_TICKET' : 'INVALID_SERVICE';
    if (of !== service) return { serviceResponse: { authenticationFailure: { code, description: 'no' } } };
    const attributes = {
      displayName: ['Ada Lovelace'],
      mail: 'ada@campus.example',
      memberOf: ['staff', 'all'],
    };
    return { serviceResponse: { authenticationSuccess: { user: 'ada', attributes } } };
  }
}
