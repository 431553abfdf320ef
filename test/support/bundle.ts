import { fileURLToPath } from 'node:url';
import { build, type BuildOptions, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Bundles sources that are only texts, as Vite or webpack would bundle the files of an application: `./client.js` finds
 * `client.ts` and `client.tsx`, and packages are those of this repository, as they were built.
 * @param files by their names; the first is where it begins
 */
export async function bundle(
  files: Readonly<Record<string, string>>,
  { plugins = [], define = {}, ...options }: BuildOptions = {},
): Promise<string> {
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
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"development"', ...define },
    logLevel: 'silent',
    absWorkingDir: ROOT,
    plugins: [...plugins, texts],
    ...options,
  });
  return outputFiles![0]!.text;
}
