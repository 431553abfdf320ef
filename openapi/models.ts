import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PluginMetadataGenerator } from '@nestjs/cli/lib/compiler/plugins/plugin-metadata-generator.js';
import type { Type } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import { ReadonlyVisitor } from '@nestjs/swagger/plugin';
import type { Program } from 'typescript';

/** Files with classes of bodies and answers, beside `*.dto.ts`. */
const MODELS = [
  'audit/audit-event.ts',
  'audit/claim-changes.ts',
  'auth/callback-error.controller.ts',
  'auth/server-metadata.controller.ts',
  'auth/sign-out/revoke.controller.ts',
  'auth/sign-out/sign-out.controller.ts',
  'platform/http/parameters/cursor.ts',
  'operations/health.controller.ts',
  'provider/listed-provider.ts',
];

type Members = Readonly<Record<string, object>>;
type Metadata = () => Promise<{
  '@nestjs/swagger': { models: [Promise<Record<string, Type>>, Record<string, Members>][] };
}>;

/**
 * Reads the members of those classes from the TypeScript sources, with their types and docstrings, by the plugin of
 * `@nestjs/swagger`; from then on it knows them. The plugin's other way, as a part of `nest build`, would write it all into the
 * service, which would then load the library at each start.
 *
 * @param root of the repository
 * @param program its sources
 * @returns the classes by their names
 */
export async function loadModels(root: string, program: Program): Promise<ReadonlyMap<string, Type>> {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const filename = `models-${process.pid}.js`;
  const visitor = new ReadonlyVisitor({
    introspectComments: true,
    pathToSource: `${root}/openapi`, // so that paths lead from here to the compiled classes
    dtoFileNameSuffix: ['.dto.ts', ...MODELS],
    controllerFileNameSuffix: ['.none.ts'],
  });
  new PluginMetadataGenerator().generate({
    visitors: [visitor],
    outputDir: here,
    filename,
    tsProgramRef: program,
    printDiagnostics: false,
  });
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
