import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../support/free-port.js';
import { tarballOf, type Packed } from '../../support/package-project.js';
import { until } from '../../support/waiting.js';
import { sectionsOf, stepsIn, type Step } from '../page.js';

const run = promisify(execFile);

/** Seconds for the commands of a section: npm may wait for the network. */
const LONGEST = '240';
/** For two sections. */
export const TIMEOUT_MS = 600_000;

/** A copy of an application of this folder, to which the steps of a guide are applied. Its server listens at PORT. */
export class Application {
  readonly url: string;
  private server: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly page: string,
    private readonly port: number,
  ) {
    this.url = `http://localhost:${port}`;
  }

  /**
   * Installs its packages from npm.
   * @param name of the folder
   * @param packages of this repository that the guide installs from the folder above the application
   */
  static async install(name: string, page: string, packages: readonly Packed[]): Promise<Application> {
    const folder = mkdtempSync('/var/tmp/latchkey-moving-');
    const it = new Application(join(folder, name), page, await freePort());
    cpSync(fileURLToPath(new URL(name, import.meta.url)), it.folder, { recursive: true });
    for (const one of packages) {
      const tarball = await tarballOf(one);
      cpSync(tarball, join(folder, basename(tarball)));
    }
    await it.run(['npm install --silent --ignore-scripts'], {});
    return it;
  }

  /**
   * Does what a section of the guide says: files, changes, commands.
   * @param env of its commands
   * @returns what these have printed
   * @throws Error if a line to be changed is not there, if a command fails, or if it does not print what the guide shows
   */
  async follow(heading: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const section = sectionsOf(this.page).get(heading);
    if (!section) throw new Error(`${this.page} has no heading "${heading}"`);
    let printed = '';
    for (const step of stepsIn(section.text)) printed += (await this.do(step, env)) ?? '';
    return printed;
  }

  /** @returns a file as the application has it at present */
  text(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8');
  }

  /** Starts the server again, after a change. */
  async start(env: Readonly<Record<string, string>>): Promise<void> {
    await this.stop();
    let output = '';
    const child = spawn(process.execPath, ['server.js'], {
      cwd: this.folder,
      env: { ...environment(), ...env, APP_URL: this.url, PORT: String(this.port) },
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    this.server = child;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`server.js ended with ${child.exitCode}:\n${output}`);
      return fetch(`${this.url}/health`).then(Boolean, () => false);
    }, 'the application has started');
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (!server || server.exitCode !== null) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(join(this.folder, '..'), { recursive: true, force: true });
  }

  private async do(step: Step, env: Readonly<Record<string, string>>): Promise<string | undefined> {
    if (step.does === 'write') writeFileSync(join(this.folder, step.file), step.text);
    if (step.does === 'change') {
      let text = this.text(step.file);
      for (const { from, to } of step.changes) {
        if (text.split(from).length !== 2) throw new Error(`${step.file} does not have once:\n${from}`);
        text = text.replace(from, () => to);
      }
      writeFileSync(join(this.folder, step.file), text);
    }
    if (step.does !== 'run') return undefined;
    const output = await this.run(step.commands, env);
    for (const line of step.output)
      if (!output.split('\n').includes(line)) throw new Error(`"${line}" is not in the output:\n${output}`);
    return output;
  }

  private async run(commands: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
    // `timeout` also ends what the shell has started; -x names the command in an error.
    const { stdout, stderr } = await run('timeout', [LONGEST, 'sh', '-exc', commands.join('\n')], {
      cwd: this.folder,
      env: { ...environment(), ...env },
    });
    return stdout + stderr;
  }
}

/** Without the settings of Jest and of npm scripts. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|JEST_|NODE_OPTIONS|NODE_ENV)/.test(name),
  );
  return { ...Object.fromEntries(kept), npm_config_audit: 'false', npm_config_fund: 'false' };
}
