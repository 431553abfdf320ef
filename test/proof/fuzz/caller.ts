import { once } from 'node:events';
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Of JSON; else nothing. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Calls a service over connections that stay open, with exactly these headers and bytes. */
export class Caller {
  private readonly agent = new Agent({ keepAlive: true });

  constructor(private readonly url: string) {}

  /** @throws where the answer breaks what the contract says of all answers (§3): never 5xx, an error as JSON */
  async call(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: string | Buffer,
  ): Promise<Answered> {
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const calling = request(this.url + path, {
      method,
      agent: this.agent,
      headers: { ...headers, ...length },
    });
    calling.end(typeof body === 'string' ? Buffer.from(body) : body); // after a text, Node.js would send the headers as UTF-8, too
    const [response] = (await once(calling, 'response')) as [IncomingMessage];
    const { statusCode: status = 0, headers: answered } = response;
    const said = await text(response);
    if (status >= 500) throw new Error(`answered with ${status} ${said}`);
    const isJson = answered['content-type']?.startsWith('application/json') ?? false;
    const json = isJson && said !== '' ? (JSON.parse(said) as Record<string, unknown>) : {};
    if (
      status >= 400 &&
      (typeof json['error'] !== 'string' || !/^[ !#-[\]-~]+$/.test(String(json['error_description'])))
    ) {
      throw new Error(`answered with ${status} and no error of the contract: ${said}`);
    }
    return { status, headers: answered, body: json };
  }

  close(): void {
    this.agent.destroy();
  }
}
