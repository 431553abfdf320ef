import { StubProvider } from '../../test/support/stub-provider.js';

export interface CodeProviders {
  readonly env: Record<string, string>;
  code(provider: string, name: string): string;
  /** One that was used there. */
  usedCode(provider: string): string;
  stop(): Promise<void>;
}

export const PROVIDERS = ['stub', 'other'] as const;

export async function codeProviders(): Promise<CodeProviders> {
  const unused = new Map<string, string>();
  const used = new Map<string, string>();
  let made = 0;
  const stubs: StubProvider[] = [];
  for (const provider of PROVIDERS) {
    const stub = await StubProvider.start();
    stub.answer = ({ body }, response) => {
      stub.requests.length = 0;
      const code = new URLSearchParams(body).get('code') ?? '';
      const name = code.startsWith(`${provider}-`) ? unused.get(code) : undefined;
      unused.delete(code);
      used.set(provider, code);
      response.writeHead(name === undefined ? 400 : 200, { 'Content-Type': 'application/json' });
      const identity = { provider_user_id: name, username: name, email: `${name}@example.org` };
      response.end(JSON.stringify(name === undefined ? { error: 'invalid_grant' } : identity));
    };
    stubs.push(stub);
  }
  return {
    env: { ...stubs[0]!.env('STUB'), ...stubs[1]!.env('OTHER') },
    code(provider, name) {
      const code = `${provider}-${++made}`;
      unused.set(code, name);
      return code;
    },
    usedCode: (provider) => used.get(provider) ?? `${provider}-0`,
    async stop() {
      for (const stub of stubs) await stub.close();
    },
  };
}
