import { build, type BuildOptions, type Plugin } from 'esbuild';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Bundles sources that are only texts, as Vite or webpack would bundle the files of an application: `./client.js` finds
 * `client.ts` and `client.tsx`, and packages are the built packages of this repository.
 * @param files by name; the first is the entry point
 * @returns the bundle's files by name, the entry first. Each `import()` is a file of its own, as in Vite: Chromium loads and settles them
 * in any order
 */
export async function bundle(
  files: Readonly<Record<string, string>>,
  { plugins = [], define = {}, ...options }: BuildOptions = {},
): Promise<ReadonlyMap<string, string>> {
  const names = Object.keys(files);
  const texts: Plugin = {
    name: 'texts',
    setup(bundling) {
      bundling.onResolve({ filter: /^\.{1,2}\// }, ({ path, namespace }) => {
        if (namespace !== 'texts') return undefined;
        const stem = path.replace(/^[./]+/, '').replace(/\.js$/, '');
        const name = names.find((one) => one === stem || one.replace(/\.\w+$/, '') === stem);
        return name === undefined ? { errors: [{ text: `no file ${path}` }] } : { path: name, namespace };
      });
      bundling.onResolve({ filter: /./ }, ({ kind, path }) =>
        kind === 'entry-point' ? { path, namespace: 'texts' } : undefined,
      );
      bundling.onLoad({ filter: /\.(?:ts|tsx|js|jsx|css)$/, namespace: 'texts' }, ({ path }) => ({
        contents: files[path]!,
        loader: path.split('.').at(-1) as 'ts' | 'tsx' | 'js' | 'jsx' | 'css',
        resolveDir: ROOT,
      }));
    },
  };
  const { outputFiles } = await build({
    entryPoints: [names[0]!],
    bundle: true,
    write: false,
    outdir: '/',
    format: 'esm',
    splitting: options.format === undefined,
    target: 'es2022',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"development"', ...define },
    logLevel: 'silent',
    absWorkingDir: ROOT,
    nodePaths: [`${ROOT}test/node_modules`],
    plugins: [...plugins, texts],
    ...options,
  });
  const entry = `/${names[0]!.replace(/\.\w+$/, '.js')}`;
  const outputs = new Map(outputFiles!.map(({ path, text }) => [path, text]));
  return new Map([[entry, outputs.get(entry)!], ...outputs]);
}

/** Serves pages and scripts from memory, at `http://localhost:<port>`. */
export class Pages {
  /** Scripts (paths that end with `.js`) and pages, by path. */
  readonly at = new Map<string, string>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Pages> {
    const server = createServer((request, response) => {
      const path = request.url!.split('?')[0]!;
      const text = pages.at.get(path);
      const type = path.endsWith('.js') ? 'text/javascript' : 'text/html';
      response.writeHead(text === undefined ? 404 : 200, { 'Content-Type': `${type}; charset=utf-8` });
      response.end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const pages = new Pages(server, `http://localhost:${(server.address() as AddressInfo).port}`);
    return pages;
  }

  /** Adds a page with `html` in `#root`, and its scripts: the first is the entry. */
  put(path: string, scripts: ReadonlyMap<string, string>, html = ''): void {
    for (const [file, text] of scripts) this.at.set(file, text);
    const [file] = scripts.keys();
    this.at.set(
      path,
      `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>App</title><div id="root">${html}</div><script type="module" src="${file}"></script></html>`,
    );
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
