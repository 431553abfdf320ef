import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Agent, AGENTS, AGENTS_CONTENT, agentsFile, API_KEY } from '../agents/agent.js';
import { Endings } from '../support/endings.js';
import { freePort } from '../support/free-port.js';
import { isInstalled, needs } from '../support/installed.js';
import { bearer, signIn } from '../support/sign-in.js';
import { useService } from '../support/use.js';
import { stepsOf } from '../guides/page.js';
import { ROOT } from './real-service.js';

const INSTALL_MS = 600_000;

/** Lines that a program prints. */
class Program {
  private readonly lines: AsyncIterator<string>;
  constructor(readonly child: ChildProcess) {
    this.lines = createInterface(child.stdout!)[Symbol.asyncIterator]();
  }

  /** The rest of the next line that begins with a word. */
  async next(word: string): Promise<string> {
    for (;;) {
      const { value, done } = await this.lines.next();
      if (done) throw new Error(`the program ended without "${word}"`);
      if (value.startsWith(word)) return value.slice(word.length).trim();
    }
  }
}

/** Official SDKs of MCP, as they are, as clients and as servers; that for Node.js is in test/guides/guides.spec.ts. */
needs({
  go: isInstalled('go'),
  python3: isInstalled('python3'),
  'the verifiers of this version': process.env['RELEASED'] === undefined,
}).describe('the Model Context Protocol', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-mcp-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const endings = new Endings();
  afterEach(() => endings.run());

  let resource: string;
  let port: number;
  beforeAll(async () => {
    port = await freePort();
    resource = `http://127.0.0.1:${port}/mcp`;
  });
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    AGENTS_FILE: agentsFile({
      ...AGENTS_CONTENT,
      resources: [{ ...AGENTS_CONTENT.resources[0], resource }],
    }),
  }));
  beforeAll(() => {
    provider.signInAtOnce(() => 'ada');
    const run = (program: string, ...args: string[]): void =>
      void execFileSync(program, args, { cwd: folder, stdio: 'pipe' });
    cpSync(join(ROOT, 'test/verifiers/mcp'), join(folder, 'client'), { recursive: true });
    mkdirSync(join(folder, 'server'));
    for (const step of stepsOf('docs/mcp.md'))
      if (step.does === 'write') writeFileSync(join(folder, 'server', step.file), step.text);
    run('python3', '-m', 'venv', '.venv');
    run('.venv/bin/pip', 'install', '-q', 'mcp==2.3.0', 'uvicorn', join(ROOT, 'verifiers/python'));
    const latchkey = 'latchkey.example/latchkey';
    const replaced = `-replace=${latchkey}=${join(ROOT, 'verifiers/go')}`;
    run('go', 'mod', 'init', 'example');
    run('go', 'mod', 'edit', `-require=${latchkey}@v0.1.0`, replaced);
    run('go', 'get', 'github.com/modelcontextprotocol/go-sdk@v1.8.0');
    run('go', 'mod', 'tidy');
    run('go', 'build', '-o', 'bin/', './client', './server');
  }, INSTALL_MS);

  const start = (command: string, ...args: string[]): Program => {
    const env = {
      ...process.env,
      LATCHKEY_URL: service.url,
      LATCHKEY_KEY: API_KEY,
      RESOURCE: resource,
      PORT: String(port),
    };
    const child = spawn(join(folder, command), args, {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    endings.after(child, async (one) => {
      one.kill('SIGKILL');
      if (one.exitCode === null) await once(one, 'exit');
    });
    return new Program(child);
  };

  const PROGRAMS: Record<string, (kind: 'client' | 'server', ...args: string[]) => Program> = {
    Go: (kind, ...args) => start(`bin/${kind}`, ...args),
    Python: (kind, ...args) => start('.venv/bin/python', `${kind}/${kind}.py`, ...args),
  };
  const LANGUAGES = Object.keys(PROGRAMS);

  it.each(LANGUAGES.flatMap((client) => LANGUAGES.map((server) => [client, server] as const)))(
    'a client in %s acts at a server in %s until its user ends it',
    async (client, server) => {
      await PROGRAMS[server]!('server').next('MCP server at');
      const program = PROGRAMS[client]!('client', resource);
      const browser = new Agent(service.url, AGENTS.cli);
      const page = await browser.follow(await browser.get(await program.next('authorize')));
      const answered = await browser.answer(page, 'yes');
      await fetch(answered.headers['location'] ?? answered.headers['refresh']!.slice('0; url='.length));
      expect(await program.next('called')).toContain('a book');

      const phone = await signIn(service.url, 'ada');
      const { body } = await bearer(service.url, phone.access_token).get('/devices').expect(200);
      const [device] = (body as { devices: { device_id: string; agent?: object }[] }).devices.filter(
        ({ agent }) => agent,
      );
      await bearer(service.url, phone.access_token).delete(`/devices/${device!.device_id}`).expect(204);
      const ended = performance.now();
      await program.next('ended');
      console.info(
        `${client} at ${server}: the stream ended after ${Math.round(performance.now() - ended)} ms`,
      );
      await program.next('refused');
    },
  );
});
