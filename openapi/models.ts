import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Type } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import { ReadonlyVisitor } from '@nestjs/swagger/plugin';
import ts from 'typescript';

/** Files with classes of bodies and answers, beside `*.dto.ts`. */
const MODELS = [
  'audit/audit-event.ts',
  'auth/callback-error.controller.ts',
  'auth/server-metadata.controller.ts',
  'auth/sign-out/backchannel-logout.controller.ts',
  'auth/sign-out/revoke.controller.ts',
  'auth/sign-out/sign-out.controller.ts',
  'http/parameters/cursor.ts',
  'operations/health.controller.ts',
  'provider/listed-provider.ts',
];

type Members = Readonly<Record<string, object>>;
type Metadata = () => Promise<{
  '@nestjs/swagger': { models: [Promise<Record<string, Type>>, Record<string, Members>][] };
}>;

/**
 * Reads the members of those classes from the TypeScript sources, with their types and docstrings, by the plugin of
 * `@nestjs/swagger`; from then on it knows them. The plugin's other way, as a part of the build, would write it all into the
 * service, which would then load the library at each start.
 *
 * @param root of the repository
 * @param program its sources
 * @returns the classes by their names
 */
export async function loadModels(root: string, program: ts.Program): Promise<ReadonlyMap<string, Type>> {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const filename = `models-${process.pid}.js`;
  const visitor = new ReadonlyVisitor({
    introspectComments: true,
    pathToSource: `${root}/openapi`, // so that paths lead from here to the compiled classes
    dtoFileNameSuffix: ['.dto.ts', ...MODELS],
    controllerFileNameSuffix: ['.none.ts'],
  });
  for (const file of program.getSourceFiles()) if (!file.isDeclarationFile) visitor.visit(program, file);
  writeFileSync(`${here}${filename}`, asModule(visitor));
  const { default: metadata } = (await import(`./${filename}`)) as { default: Metadata };
  rmSync(`${here}${filename}`);
  await SwaggerModule.loadPluginMetadata(metadata as never);
  const models = new Map<string, Type>();
  for (const [file, classes] of (await metadata())['@nestjs/swagger'].models) {
    const loaded = await file;
    for (const name of Object.keys(classes)) models.set(name, loaded[name]!);
  }
  return models;
}

/** What the visitor has found, as a module that `SwaggerModule.loadPluginMetadata` takes. */
function asModule(visitor: ReadonlyVisitor): string {
  const printer = ts.createPrinter();
  const nowhere = ts.createSourceFile('file.ts', '', ts.ScriptTarget.Latest);
  const text = (node: ts.Node): string => printer.printNode(ts.EmitHint.Unspecified, node, nowhere);
  const models = visitor.collect().models.map(([file, classes]) => {
    const members = Object.entries(classes).map(([name, found]) => `${JSON.stringify(name)}: ${text(found)}`);
    return `[${text(file)}, { ${members.join(', ')} }]`;
  });
  const types = Object.entries(visitor.typeImports).map(([id, path]) => `[${JSON.stringify(id)}]: ${path}`);
  const source = `export default async () => {
    const t = { ${types.join(', ')} };
    return { '@nestjs/swagger': { models: [${models.join(', ')}] } };
  };`;
  // Imports of ES modules name the file, which those of the plugin do not.
  return source.replaceAll(/import\("(\.[^"]*?)(?:\.js)?"\)/g, 'import("$1.js")');
}
