import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.js';
import { PackageProject } from './package-project.js';
import { until } from './until.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** `examples/react` in a project of its own, with the packages as they are packed. */
export class ExampleProject {
  private constructor(readonly project: PackageProject) {}

  static async install(): Promise<ExampleProject> {
    const project = await PackageProject.install(['client', 'server'], 'module');
    await cp(join(ROOT, 'examples/react'), project.directory, {
      recursive: true,
      filter: (path) => !['node_modules', 'dist'].includes(basename(path)),
    });
    const used = ['express', 'react', 'react-dom', 'socket.io-client', 'typescript', 'vite', '@types'];
    for (const name of used) await project.link(name);
    const modules = join(project.directory, 'node_modules/@vitejs');
    await mkdir(modules, { recursive: true });
    await symlink(
      join(ROOT, 'examples/react/node_modules/@vitejs/plugin-react'),
      join(modules, 'plugin-react'),
    );
    return new ExampleProject(project);
  }

  /** Runs a command of Vite to its end. @returns its exit code and what it printed */
  async vite(command: 'build', env: Record<string, string>): Promise<{ code: number; output: string }> {
    const child = this.spawn('vite/bin/vite.js', [command], env);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
    const [code] = (await once(child, 'close')) as [number];
    return { code, output };
  }

  /** Checks the types of all sources. @returns what there is to say: nothing where all is well */
  async types(): Promise<string> {
    const child = this.spawn('typescript/bin/tsc', [], {});
    let output = '';
    child.stdout.on('data', (text) => (output += String(text)));
    await once(child, 'close');
    return output;
  }

  /** Serves what was built, and the API. */
  async serve(env: Record<string, string>): Promise<{ url: string; close: () => Promise<void> }> {
    const port = await freePort();
    const args = ['preview', '--port', String(port), '--strictPort', '--host', '127.0.0.1'];
    const child = this.spawn('vite/bin/vite.js', args, env);
    child.stdout.resume();
    child.stderr.resume();
    const ended = once(child, 'close');
    const url = `http://127.0.0.1:${port}`;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`vite preview ended with ${child.exitCode}`);
      return fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
    });
    return {
      url,
      async close() {
        child.kill();
        await ended;
      },
    };
  }

  remove(): Promise<void> {
    return this.project.remove();
  }

  private spawn(program: string, args: string[], env: Record<string, string>) {
    return spawn(process.execPath, [join(ROOT, 'node_modules', program), ...args], {
      cwd: this.project.directory,
      env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}
