import ts from 'typescript';
import { ERROR_STATUS, type ErrorCode } from '../src/platform/errors/oauth-error.js';

/** A JSON Schema, or another object of the document. */
export type Json = Record<string, unknown>;

/** What the source of a route says: the doc comment of its method, and the types of its parameters and its result. */
export interface Source {
  readonly summary: string;
  readonly description: string;
  /** Descriptions of answers: `@returns`, under the status of the route, or `@returns {302}`. */
  readonly answers: ReadonlyMap<number | undefined, string>;
  /** Codes of `@throws OAuthError`. */
  readonly errors: readonly ErrorCode[];
  /** Descriptions of errors with a separate entry: `@throws {503}`. */
  readonly failures: ReadonlyMap<number, string>;
  /** Names of types: of the result, and of the parameter that has `@Body` or `@Query`. */
  readonly result: readonly string[];
  readonly body: readonly string[];
  readonly query: readonly string[];
  /** Headers that the method reads by `@Headers`, in lower case. */
  readonly headers: readonly string[];
}

/** @returns the routes of a program by class and method: `MeController_me` */
export function readSources(program: ts.Program): ReadonlyMap<string, Source> {
  const checker = program.getTypeChecker();
  const sources = new Map<string, Source>();
  const visit = (node: ts.Node): void => {
    if (ts.isMethodDeclaration(node) && decorators(node, /^(?:Get|Post|Put|Patch|Delete)$/).length > 0) {
      const controller = (node.parent as ts.ClassDeclaration).name!.text;
      if (
        ![node, node.parent].some((one) =>
          ts.getJSDocTags(one).some(({ tagName }) => tagName.text === 'internal'),
        )
      )
        sources.set(`${controller}_${node.name.getText()}`, sourceOf(node, checker));
    }
    ts.forEachChild(node, visit);
  };
  for (const file of program.getSourceFiles()) if (!file.isDeclarationFile) visit(file);
  return sources;
}

function sourceOf(method: ts.MethodDeclaration, checker: ts.TypeChecker): Source {
  const [comment] = ts.getJSDocCommentsAndTags(method).filter(ts.isJSDoc);
  const [summary = '', ...description] = textOf(comment?.comment).split('\n\n');
  const tags = ts.getJSDocTags(method).map((tag) => ({
    name: tag.tagName.text,
    text: textOf(tag.comment),
    status: (tag as ts.JSDocReturnTag).typeExpression?.type.getText(),
  }));
  const statusOf = ({ status }: { status?: string | undefined }) => (status ? Number(status) : undefined);
  const thrown = tags.filter(({ name }) => name === 'throws');
  const result = checker.getSignatureFromDeclaration(method)!.getReturnType();
  const typesOf = (decorator: string) =>
    method.parameters
      .filter((parameter) => decorators(parameter, new RegExp(`^${decorator}$`)).length > 0)
      .flatMap((parameter) => namesOf(checker.getTypeAtLocation(parameter)));
  return {
    summary: summary.replace(/\.$/, ''),
    description: description.join('\n\n'),
    answers: new Map(tags.filter(({ name }) => name === 'returns').map((tag) => [statusOf(tag), tag.text])),
    errors: thrown
      .filter(({ status }) => !status)
      .flatMap(({ text }) => [...text.matchAll(/`(\w+)`/g)].map(([, code]) => code as ErrorCode))
      .filter((code) => code in ERROR_STATUS),
    failures: new Map(thrown.filter(({ status }) => status).map((tag) => [statusOf(tag)!, tag.text])),
    result: namesOf(checker.getAwaitedType(result) ?? result),
    body: typesOf('Body'),
    query: typesOf('Query'),
    headers: method.parameters
      .flatMap((parameter) => decorators(parameter, /^Headers$/))
      .map(({ arguments: [name] }) => (name as ts.StringLiteral).text),
  };
}

/** Calls by which a node is decorated. */
function decorators(node: ts.HasDecorators, name: RegExp): ts.CallExpression[] {
  return (ts.getDecorators(node) ?? [])
    .map(({ expression }) => expression)
    .filter(ts.isCallExpression)
    .filter(({ expression }) => name.test(expression.getText()));
}

function namesOf(type: ts.Type): string[] {
  const members = type.isUnion() ? type.types : [type];
  return members.flatMap((member) => {
    if (member.flags & ts.TypeFlags.String) return ['string'];
    return (member.aliasSymbol ?? member.symbol)?.name ?? [];
  });
}

/** Paragraphs of a comment, each in one line, without clauses of documents that readers of the interface do not have. */
function textOf(comment: string | ts.NodeArray<ts.JSDocComment> | undefined): string {
  const paragraphs = (ts.getTextOfJSDocComment(comment) ?? '').split(/\n\s*\n/);
  return paragraphs.map((text) => withoutCitations(text.trim())).join('\n\n');
}

export function withoutCitations(text: string): string {
  const words = text
    .replace(/\s+/g, ' ')
    .replace(/ \((?:docs\/|spec §)[^)]*\)/g, '')
    .replaceAll('PUBLIC_URL', 'the service’s address');
  return words && words[0]!.toUpperCase() + words.slice(1);
}
