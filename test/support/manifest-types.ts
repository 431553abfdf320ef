import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const FILE = fileURLToPath(new URL('./manifests.ts', import.meta.url));

/**
 * Validates manifests by the types that Kubernetes publishes (npm package kubernetes-types, made from its OpenAPI document): fields
 * that do not exist or are missing, and values of another type. It knows no patterns and no limits.
 *
 * @param parsed manifests
 * @returns a line for each fault
 */
export function typeErrors(parsed: readonly Readonly<Record<string, unknown>>[]): string[] {
  const source = parsed
    .map(({ apiVersion, kind, ...rest }) => {
      const [apiRelease, group = 'core'] = String(apiVersion).split('/').toReversed() as [string, string?];
      const type = `import('kubernetes-types/${group.split('.')[0]}/${apiRelease}.js').${String(kind)}`;
      return `({ ${JSON.stringify({ apiVersion, kind, ...rest }).slice(1, -1)} }) satisfies ${type};`;
    })
    .join('\n');
  const options = { noEmit: true, strict: true, skipLibCheck: true, types: [], lib: ['lib.es2023.d.ts'] };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...others) =>
    name === FILE ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2023) : read(name, ...others);
  const program = ts.createProgram(
    [FILE],
    { ...options, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    host,
  );
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
