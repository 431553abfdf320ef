/** An element as W3C WebDriver writes it. */
export type Reference = Readonly<Record<string, string>>;

/** Milliseconds. */
const LONGEST = 15_000;

/** A client of W3C WebDriver (https://www.w3.org/TR/webdriver2/), as far as the tests need one. */
export class WebDriver {
  private constructor(
    private readonly address: string,
    readonly version: string,
  ) {}

  /** @param url of the driver @param capabilities that the session must have */
  static async start(url: string, capabilities: object): Promise<WebDriver> {
    const opened = (await send('POST', `${url}/session`, {
      capabilities: { alwaysMatch: capabilities },
    })) as { sessionId: string; capabilities: { browserVersion: string } };
    return new WebDriver(`${url}/session/${opened.sessionId}`, opened.capabilities.browserVersion);
  }

  end(): Promise<unknown> {
    return send('DELETE', this.address);
  }

  get(path: string): Promise<unknown> {
    return send('GET', this.address + path);
  }

  post(path: string, body: object = {}): Promise<unknown> {
    return send('POST', this.address + path, body);
  }

  /** Closes the current window. */
  closeWindow(): Promise<unknown> {
    return send('DELETE', `${this.address}/window`);
  }

  /** Finds an element of the current document. @returns null if the expression is null */
  async element(expression: string): Promise<Reference | null> {
    return (await this.post('/execute/sync', {
      script: `return ${expression}`,
      args: [],
    })) as Reference | null;
  }

  /** Does something with an element: `click`, `value`. */
  onElement(element: Reference, path: string, body?: object): Promise<unknown> {
    return this.post(`/element/${Object.values(element)[0]}/${path}`, body);
  }

  async evaluate(expression: string): Promise<unknown> {
    const [value, error] = (await this.post('/execute/async', {
      script: `const done = arguments[0];
        (async () => (${expression}))().then((value) => done([value]), (error) => done([, String(error)]))`,
      args: [],
    })) as [unknown, string?];
    if (error) throw new Error(error);
    return value ?? undefined;
  }
}

async function send(method: string, url: string, body?: object): Promise<unknown> {
  const signal = AbortSignal.timeout(LONGEST);
  const answer = await fetch(url, { method, signal, ...(body && { body: JSON.stringify(body) }) });
  const { value } = (await answer.json()) as { value: { error?: string; message?: string } };
  if (!answer.ok) throw new Error(`${url.split('/').slice(5).join('/')}: ${value.error} ${value.message}`);
  return value;
}
