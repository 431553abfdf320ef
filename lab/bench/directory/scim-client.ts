import { Connection } from '../load/connection.js';
import { PROVIDER } from '../names.js';

const TOKEN = 'bench-token-of-a-directory-with-enough-characters';

/** Setting that gives the stub provider a directory. */
export const DIRECTORY_ENV = { [`PROVIDERS_${PROVIDER.toUpperCase()}_SCIM_TOKEN`]: TOKEN };

/** A provisioning service: as many requests at a time as it has connections, which is a directory's share. */
const CONNECTIONS = 4;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Calls of a directory, with their times. */
export class ScimClient {
  /** Milliseconds of each call. */
  readonly times: number[] = [];

  private constructor(
    private readonly connections: readonly Connection[],
    /** Rejects at an answer that is not 2xx, which ends the run. */
    readonly failed: Promise<never>,
  ) {}

  static async open(port: number, count = CONNECTIONS): Promise<ScimClient> {
    let fail!: (error: Error) => void;
    const failed = new Promise<never>((_, reject) => (fail = reject));
    failed.catch(() => undefined);
    const opening = Array.from({ length: count }, () => Connection.open(port, fail));
    return new ScimClient(await Promise.all(opening), failed);
  }

  /** @returns the id in the answer; '' if there is none */
  call(method: Method, path: string, body?: object, connection = this.connections[0]!): Promise<string> {
    const text = body ? JSON.stringify(body) : '';
    const type = body
      ? `Content-Type: application/scim+json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
      : '';
    const head = `${method} /scim/v2/${PROVIDER}${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
    const began = performance.now();
    return new Promise((resolve) => {
      const onAnswer = (answer: Buffer): void => {
        this.times.push(performance.now() - began);
        resolve(/"id":"([^"]+)"/.exec(answer.toString('latin1', 0, 1000))?.[1] ?? '');
      };
      connection.send(Buffer.from(`${head}${type}\r\n${text}`), onAnswer, '2');
    });
  }

  /** Sends one operation. */
  patch(path: string, operation: object, connection?: Connection): Promise<string> {
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];
    return this.call('PATCH', path, { schemas, Operations: [operation] }, connection);
  }

  /**
   * Does calls on all connections, until there is none left or the time is over.
   * @param next begins the next call; undefined: there is none left
   */
  async drain(
    next: (connection: Connection) => Promise<unknown> | undefined,
    until = Infinity,
  ): Promise<void> {
    const work = async (connection: Connection): Promise<void> => {
      while (performance.now() < until) {
        const call = next(connection);
        if (!call) return;
        await call;
      }
    };
    await Promise.all(this.connections.map(work));
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }
}
