import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { Entry } from './compare.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGES = ['.', 'packages/client', 'packages/server', 'packages/embedded-postgres'];
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  types: ['node'],
  customConditions: ['@latchkey/source'],
  strict: true,
  exactOptionalPropertyTypes: true,
  experimentalDecorators: true,
  skipLibCheck: true,
  noEmit: true,
};
const TEXT = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType;

/** Returns all that the packages export: functions, classes, types and their members, by `<module> <name>`. */
export function exportedNames(): Record<string, Entry> {
  const modules = PACKAGES.flatMap(modulesOf);
  const program = ts.createProgram({ rootNames: modules.map(({ file }) => file), options: OPTIONS });
  const surface = new ExportSurface(program.getTypeChecker());
  for (const { name, file } of modules) surface.addModule(name, program.getSourceFile(file)!);
  return surface.entries;
}

/** Reads `exports` of a package.json; the types are compiled from sources of equal names. */
function modulesOf(folder: string): { name: string; file: string }[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return Object.entries(manifest.exports).flatMap(([path, target]) => {
    if (typeof target === 'string') return []; // package.json
    const source = target.types.replace(/^\.\/dist\/(?:types\/)?/, '').replace(/\.d\.ts$/, '.ts');
    const file = join(ROOT, folder, folder === '.' ? source : `src/${source}`);
    if (!existsSync(file))
      throw new Error(`${file} does not exist: it should be the source of ${target.types}`);
    return { name: manifest.name + path.slice(1), file };
  });
}

class ExportSurface {
  readonly entries: Record<string, Entry> = {};
  /** Names of what other modules may export again. */
  private readonly names = new Map<ts.Symbol, string>();

  constructor(private readonly checker: ts.TypeChecker) {}

  addModule(module: string, file: ts.SourceFile): void {
    for (const exported of this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(file)!)) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      this.addExport(
        `${module} ${exported.name}`,
        isAlias ? this.checker.getAliasedSymbol(exported) : exported,
      );
    }
  }

  private addExport(name: string, symbol: ts.Symbol): void {
    const known = this.names.get(symbol);
    if (known !== undefined) {
      this.entries[name] = { type: `as ${known}` };
      return;
    }
    this.names.set(symbol, name);
    const { flags } = symbol;
    const { typeParameters } = symbol.declarations![0] as ts.DeclarationWithTypeParameterChildren;
    const isType = flags & (ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Class | ts.SymbolFlags.Interface);
    if (isType) this.addTypeParameters(name, typeParameters, true);
    if (flags & ts.SymbolFlags.TypeAlias) return this.addTypeAlias(name, symbol);
    if (flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) {
      this.entries[name] = { type: flags & ts.SymbolFlags.Class ? 'class' : 'interface' };
      this.addMembers(name, this.checker.getDeclaredTypeOfSymbol(symbol));
      if (flags & ts.SymbolFlags.Class) {
        const made = this.checker.getTypeOfSymbol(symbol);
        this.addSignatures(`${name}.constructor`, made.getConstructSignatures());
      }
      return;
    }
    this.addValue(name, this.checker.getTypeOfSymbol(symbol));
  }

  private addTypeAlias(name: string, symbol: ts.Symbol): void {
    const { type } = symbol.declarations!.find((node) => ts.isTypeAliasDeclaration(node))!;
    if (ts.isTypeLiteralNode(type)) {
      this.entries[name] = { type: 'interface' };
      this.addMembers(name, this.checker.getDeclaredTypeOfSymbol(symbol));
    } else if (ts.isUnionTypeNode(type)) {
      this.entries[name] = { values: type.types.map(textOf) };
    } else {
      this.entries[name] = { type: textOf(type) };
    }
  }

  private addMembers(name: string, type: ts.Type): void {
    for (const member of this.checker.getPropertiesOfType(type)) {
      const declarations = member.declarations ?? [];
      if (!declarations.every((node) => this.isOurs(node))) continue;
      const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0;
      // of a symbol, the checker makes `__@iterator@123`
      const memberName = member.name.replace(/^__@(\w+)@\d+$/, '[$1]');
      this.addValue(`${name}.${memberName}`, this.checker.getTypeOfSymbol(member), !isOptional);
    }
  }

  /** Whether it is part of the interface: neither private nor internal, nor of another package. */
  private isOurs(node: ts.Declaration): boolean {
    const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
    const name = ts.getNameOfDeclaration(node);
    return (
      !(name && ts.isPrivateIdentifier(name)) &&
      (ts.getCombinedModifierFlags(node) & hidden) === 0 &&
      !ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal') &&
      !node.getSourceFile().fileName.includes('/node_modules/')
    );
  }

  /** @param isAlways of a member: whether it is never absent */
  private addValue(name: string, type: ts.Type, isAlways?: boolean): void {
    const always = isAlways ? ({ always: true } as const) : {};
    const signatures = this.checker.getNonNullableType(type).getCallSignatures();
    if (signatures.length > 0) this.addSignatures(name, signatures, always);
    else this.entries[name] = { ...always, type: this.print(type, isAlways === false) };
  }

  private addSignatures(name: string, signatures: readonly ts.Signature[], always: Entry = {}): void {
    signatures.forEach((signature, index) => {
      const params = signature.getParameters().map((symbol) => this.parameter(symbol));
      const type = this.print(signature.getReturnType());
      const numbered = index === 0 ? name : `${name}#${index + 1}`;
      this.entries[numbered] = { ...always, params, type };
      this.addTypeParameters(numbered, signature.getDeclaration()?.typeParameters, false);
    });
  }

  /** @param isNamed whether users write the arguments; TypeScript infers arguments of calls */
  private addTypeParameters(
    name: string,
    parameters: readonly ts.TypeParameterDeclaration[] | undefined,
    isNamed: boolean,
  ): void {
    for (const [index, node] of (parameters ?? []).entries()) {
      const required = isNamed && !node.default ? ({ required: true } as const) : {};
      const type = node.constraint ? textOf(node.constraint) : 'any';
      this.entries[`${name}.<${index + 1}>`] = { ...required, type };
    }
  }

  /** Without its name, which callers do not use. */
  private parameter(symbol: ts.Symbol): string {
    const declaration = symbol.valueDeclaration as ts.ParameterDeclaration;
    const isOptional = this.checker.isOptionalParameter(declaration);
    const text = this.print(this.checker.getTypeOfSymbol(symbol), isOptional);
    return (declaration.dotDotDotToken ? '...' : isOptional ? '?' : '') + text;
  }

  private print(type: ts.Type, isOptional = false): string {
    const text = this.checker.typeToString(type, undefined, TEXT);
    return sortUnion(isOptional ? text.replace(/ \| undefined$/, '') : text);
  }
}

/** The checker has the parts of a union in the order in which it met them, which other code changes. */
function sortUnion(text: string): string {
  if (text.includes('=>')) return text;
  const parts = [''];
  let depth = 0;
  for (const word of text.split(' ')) {
    if (word === '|' && depth === 0) {
      parts.push('');
      continue;
    }
    depth += (word.match(/[({[<]/g)?.length ?? 0) - (word.match(/[)}\]>]/g)?.length ?? 0);
    parts[parts.length - 1] += ` ${word}`;
  }
  return parts
    .map((part) => part.trim())
    .toSorted()
    .join(' | ');
}

function textOf(node: ts.Node): string {
  return node.getText().replaceAll(/\s+/g, ' ').replaceAll(/^\| /g, '');
}
