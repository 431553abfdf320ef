import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application } from 'typedoc';
import { load } from 'typedoc-plugin-markdown';
import { GENERATED, ROOT } from './places.js';

interface Sdk {
  readonly name: string;
  readonly tsconfig: string;
  readonly entryPoints: readonly string[];
}

const ENTRY = 'modules';

const SDKS: readonly Sdk[] = [
  {
    name: 'client',
    tsconfig: 'packages/client/tsconfig.json',
    entryPoints: ['index.ts', 'react/index.ts', 'react/index.tsx'].map(
      (file) => `packages/client/src/${file}`,
    ),
  },
  {
    name: 'server',
    tsconfig: 'packages/server/tsconfig.build.json',
    entryPoints: ['index', 'express', 'fastify', 'hono', 'nestjs'].map(
      (file) => `packages/server/src/${file}.ts`,
    ),
  },
];

/** The references of the two SDKs, from their types and docstrings. */
export async function writeSdkReference(): Promise<void> {
  for (const { name, tsconfig, entryPoints } of SDKS) {
    const app = await Application.bootstrapWithPlugins({
      plugin: [load],
      entryPoints: entryPoints.map((file) => join(ROOT, file)).filter((file) => existsSync(file)),
      tsconfig: join(ROOT, tsconfig),
      basePath: join(ROOT, `packages/${name}/src`),
      out: join(ROOT, GENERATED, name),
      readme: 'none',
      disableSources: true, // there is no public repository to link to
      skipErrorChecking: true, // tsc has done it
      excludePrivate: true,
      excludeInternal: true,
      excludeExternals: true,
      logLevel: 'Warn',
      router: 'module',
      entryFileName: ENTRY,
      hideBreadcrumbs: true,
      hidePageHeader: true,
      hideGroupHeadings: true,
      groupOrder: ['Functions', 'Interfaces', 'Classes', 'Type Aliases'],
      useCodeBlocks: true,
      expandObjects: true,
      parametersFormat: 'table',
      interfacePropertiesFormat: 'table',
      typeDeclarationFormat: 'table',
      classPropertiesFormat: 'table',
      tableColumnSettings: {
        hideDefaults: true,
        hideInherited: true,
        hideModifiers: true,
        hideOverrides: true,
      },
    } as Parameters<typeof Application.bootstrapWithPlugins>[0]);
    const project = await app.convert();
    if (project === undefined) throw new Error(`TypeDoc could not read packages/${name}`);
    await app.generateOutputs(project);
    nameModules(join(ROOT, GENERATED, name), `@latchkey/${name}`);
  }
}

/** Each module's page under the name by which it is imported. TypeDoc's list of modules is what the sidebar is for. */
function nameModules(folder: string, packageName: string): void {
  const list = join(folder, `${ENTRY}.md`);
  if (readdirSync(folder).length === 1) renameSync(list, join(folder, 'index.md'));
  else rmSync(list);
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((one) =>
    one.endsWith('.md'),
  )) {
    const title = join(packageName, file.slice(0, -3).replace(/(^|\/)index$/, ''));
    const text = readFileSync(join(folder, file), 'utf8')
      .replace(/^# .*/, `# ${title.replace(/\/$/, '')}`)
      .replaceAll(/^\*\*\*$/gm, ''); // its lines between parts: the site's headings have theirs
    writeFileSync(join(folder, file), `---\noutline: 2\n---\n\n${text}`);
  }
}
