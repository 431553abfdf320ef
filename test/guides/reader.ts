import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Frame, Page } from 'playwright-core';
import type { Step } from './page.js';

/** Commands that run until they are stopped. */
const SERVER =
  /(?:^|&& )(?:npm start|npm run .*dev|node \S+\.js|npx --no-install (?:next (?:dev|start)|latchkey serve)|python3 -m http\.server)\b/;

/** First command of most guides: a reader whose service still runs leaves it out. */
const isService = (command: string): boolean => command.startsWith('npm ci && npm start');

/** The address that a server prints when it is ready. */
const ADDRESS = /http:\/\/(?:localhost|[\d.]+|\[::1?\]):(\d+)/;

/** A button or an answer may wait for a compiler. */
const TIMEOUT_MS = 300_000;

interface Server {
  readonly command: string;
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly terminal: Terminal;
}

interface Terminal {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A new user at a machine with a clone of the repository, terminals, and a browser. */
export class Reader {
  /** The folder of the application: the last one that a terminal entered, other than the clone. */
  private project: string;
  private terminal: Terminal;
  private servers: Server[] = [];
  private tab!: Page;
  private readonly newTerminal: Terminal;

  constructor(private readonly clone: string) {
    this.newTerminal = { directory: clone, env: newUsersEnvironment() };
    this.terminal = this.newTerminal;
    this.project = clone;
  }

  /** Begins with a page of the documents. @param tab of a browser */
  begin(tab: Page): void {
    tab.setDefaultTimeout(TIMEOUT_MS);
    this.tab = tab;
    this.terminal = this.newTerminal;
    this.project = this.clone;
  }

  /** Stops the servers of a page; the service runs on, for the next one. */
  async end(): Promise<void> {
    while (this.servers.length > 0 && !isService(this.servers.at(-1)!.command)) await this.stop();
  }

  async close(): Promise<void> {
    while (this.servers.length > 0) await this.stop();
  }

  async do(step: Step): Promise<void> {
    if (step.does === 'run') await this.run(step.commands, step.output);
    else if (step.does === 'write') this.write(step.file, step.text);
    else if (step.does === 'change') throw new Error(`${step.file}: a reader has no such file yet`);
    else if (step.does === 'open') await this.open(step.what);
    else if (step.does === 'sign in') await this.signIn(step.login, step.password);
    else if (step.does === 'press')
      await this.tab.getByRole('button', { name: step.what, exact: true }).click();
    else if (step.does === 'see') await this.tab.getByText(step.what).first().waitFor();
    else {
      // Else the page of `next dev` asks `next start` for a WebSocket, which stays open without an answer, and Ctrl-C waits for it.
      await this.tab.goto('about:blank');
      await this.stop();
    }
  }

  /**
   * Runs a block of commands in the present terminal. If the last one is a server, it keeps running, and the reader opens another
   * terminal, in the clone.
   * @throws Error with the output if a command fails, or if it does not print what the page shows
   */
  private async run(commands: readonly string[], expected: readonly string[]): Promise<void> {
    const last = commands.at(-1)!;
    if (isService(last) && this.servers.some(({ command }) => isService(command))) return;
    // In place of a prompt, descriptor 3 gets the folder and the exported variables in which the next block begins.
    const script = [...commands.map((command) => `{ ${command}\n} || exit`), 'env -0 >&3'].join('\n');
    const { terminal } = this;
    const child = spawn('bash', ['-c', script], {
      cwd: terminal.directory,
      env: terminal.env,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true, // a process group, which Ctrl-C stops
    });
    let output = '';
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const exported = textOf(child.stdio[3] as NodeJS.ReadableStream);
    if (SERVER.test(last)) {
      this.servers.push({ command: last, child, ended, terminal });
      await isServing(child, () => output);
      this.terminal = this.newTerminal;
      return;
    }
    await ended;
    if (child.exitCode !== 0)
      throw new Error(`${commands.join('\n')}\nended with ${child.exitCode}:\n${output}`);
    for (const line of expected)
      if (!patternOf(line).test(output)) throw new Error(`"${line}" is not in the output:\n${output}`);
    const env = Object.fromEntries((await exported).split('\0').map((entry) => entry.split(/=(.*)/s, 2)));
    this.terminal = { directory: env['PWD']!, env };
    if (env['PWD'] !== this.clone) this.project = env['PWD']!;
  }

  private write(file: string, text: string): void {
    const path = join(this.project, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  private async open(url: string): Promise<void> {
    const response = await this.tab.goto(url);
    if (response?.ok() !== true) throw new Error(`${url} answered ${response?.status()}`);
  }

  /** Fills in the form of the sample provider, in the dialog of the application or as a page. */
  private async signIn(login: string, password: string): Promise<void> {
    const form = await this.signInForm();
    await form.locator('input[name=login]').fill(login);
    await form.locator('input[name=password]').fill(password);
    await form.locator('input[name=password]').press('Enter');
  }

  private async signInForm(): Promise<Frame> {
    for (const end = performance.now() + TIMEOUT_MS; performance.now() < end; await delay(100))
      for (const frame of this.tab.frames())
        if (await frame.isVisible('input[name=login]').catch(() => false)) return frame;
    throw new Error(`${this.tab.url()} has no form for signing in`);
  }

  /** Presses Ctrl-C in the terminal of the newest server, which becomes the present one. */
  private async stop(): Promise<void> {
    const server = this.servers.pop();
    if (server === undefined) return; // "if it still runs"
    const { child, ended, terminal } = server;
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGINT');
    await ended;
    this.terminal = terminal;
  }
}

/** Resolves when a server answers at the address that it has printed. @throws Error with its output if it never does */
async function isServing(child: ChildProcess, output: () => string): Promise<void> {
  for (const end = performance.now() + TIMEOUT_MS; performance.now() < end; await delay(100)) {
    const [, port] = ADDRESS.exec(output()) ?? [];
    if (port && (await fetch(`http://localhost:${port}`).catch(() => undefined))) return;
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}:\n${output()}`);
  }
  throw new Error(`the server does not answer:\n${output()}`);
}

const patternOf = (line: string): RegExp => {
  const parts = line.split('…').map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}\\r?$`, 'm');
};

/** Variables of a new user's shell that have to do with this machine and its network; none of Jest, npm scripts or CI. */
const KEPT = /^(?:HOME|LANG|USER|NODE_EXTRA_CA_CERTS|NPM_CONFIG_\w+|\w+_PROXY)$/i;

/** Programs print without colours and at once. */
function newUsersEnvironment(): Terminal['env'] {
  const kept = Object.entries(process.env).filter(([name]) => KEPT.test(name) && !name.startsWith('npm_'));
  const folders = process.env['PATH']!.split(delimiter).filter((path) => !path.includes('node_modules')); // npm's
  const quiet = { NO_COLOR: '1', PYTHONUNBUFFERED: '1', NEXT_TELEMETRY_DISABLED: '1' };
  return { ...Object.fromEntries(kept), ...quiet, PATH: folders.join(delimiter) };
}
