import type { INestApplication, Type } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { ErrorCode } from '../src/platform/errors/oauth-error.js';
import { speaksOAuth } from '../src/platform/http/parameters/parameter.js';
import { byStatus, ERROR, errorResponse } from './errors.js';
import { BODIES, CONTENTS } from './examples.js';
import { DESCRIPTION, SECURITY_SCHEMES, TAGS, TITLE } from './introduction.js';
import { routesOf, type Route } from './routes.js';
import { completeSchema, parametersOf, type ObjectSchema } from './schemas.js';
import type { Json, Source } from './sources.js';

/** An operation as `@nestjs/swagger` makes it. */
interface Scanned {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, object>>;
}

/** Path and method of an operation, and what all operations share. */
interface Context {
  readonly path: string;
  readonly models: ReadonlyMap<string, Type>;
  readonly schemas: Readonly<Record<string, ObjectSchema>>;
  /** Answers by name, for references; errors of operations are added. */
  readonly responses: Record<string, Json>;
}

/** Errors of all operations. */
const EVERYWHERE = ['invalid_request', 'server_error'] as const;
/** Errors of operations with a body. */
const WITH_BODY = ['payload_too_large', 'unsupported_media_type'] as const;
const WITHOUT_BODY = [204, 302, 303, 304];
const PAGE = { 'text/html': { schema: { type: 'string' } } };
const HEADERS: Readonly<Record<string, Json>> = {
  'Cache-Control': { description: 'How long the answer may be stored.', schema: { type: 'string' } },
  Location: { description: 'Where the browser goes.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } },
};

/**
 * Makes the OpenAPI document: paths and schemas by `@nestjs/swagger`, completed from decorators and doc comments.
 *
 * @param app application in preview mode
 * @param models classes of bodies and answers by name
 * @throws Error for a route without the doc comment's `@returns`
 */
export function makeDocument(
  app: INestApplication,
  models: ReadonlyMap<string, Type>,
  sources: ReadonlyMap<string, Source>,
  version: string,
): Json {
  const config = new DocumentBuilder().setOpenAPIVersion('3.1.1').build();
  const scanned = SwaggerModule.createDocument(app, config, {
    extraModels: [...models.values()] as never[],
    operationIdFactory: (controller, method) => `${controller}_${method}`,
  });
  const schemas = scanned.components!.schemas as Record<string, ObjectSchema>;
  const responses: Record<string, Json> = {
    not_found: errorResponse(['not_found']),
    method_not_allowed: errorResponse(['method_not_allowed']),
  };
  const routes = routesOf(app, sources);
  const operations = Object.entries(scanned.paths).flatMap(([found, item]) => {
    const path = found.replace(/^\/providers\/name\//, '/providers/{name}/'); // one of them stands for all
    return (Object.entries(item) as [string, unknown][]).flatMap(([method, operation]) => {
      const scan = operation as Scanned;
      const route = routes.get(scan.operationId);
      if (!route) return []; // `@internal`
      if (route.answers.size === 0) throw new Error(`the comment of ${scan.operationId} has no @returns`);
      const context = { path, models, schemas, responses };
      return { path, method, operation: operationOf(scan, route, context) };
    });
  });
  const tags = Object.keys(TAGS);
  const paths: Record<string, Record<string, Json>> = {};
  for (const tag of tags)
    for (const { path, method, operation } of operations)
      if ((operation['tags'] as string[]).includes(tag)) (paths[path] ??= {})[method] = operation;
  const used = JSON.stringify([paths, schemas]);
  const completed = Object.entries(schemas)
    .filter(([name]) => used.includes(`"#/components/schemas/${name}"`))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, schema]) => [name, completeSchema(schema, models.get(name))] as const);
  return {
    openapi: '3.1.1',
    info: { title: TITLE, version, description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: 'http://localhost:3000', description: 'This service.' }], // replaced by PUBLIC_URL
    tags: tags.map((name) => ({ name, description: TAGS[name as keyof typeof TAGS] })),
    paths,
    components: {
      schemas: { ...Object.fromEntries(completed), Error: ERROR },
      responses,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function operationOf(scan: Scanned, route: Route, context: Context): Json {
  const id = scan.operationId.split('_')[1]!;
  const success = Number(Object.keys(scan.responses)[0]);
  const answers = [...route.answers].map(([status = success, description]) => {
    // A proxy reads headers only.
    const content =
      WITHOUT_BODY.includes(status) || route.access === 'forwarded'
        ? undefined
        : contentOf(id, route, context);
    return [status, { description, headers: headersOf(status, route), content }] as const;
  });
  const parameters = parametersOf(context.path, route, context);
  return {
    operationId: id,
    tags: [tagOf(context.path, route)],
    summary: route.summary,
    description: route.description || undefined,
    security: securityOf(route),
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: route.body.length > 0 ? bodyOf(id, route, context) : undefined,
    responses: { ...Object.fromEntries(answers), ...errorsOf(route, context.responses) },
  };
}

function tagOf(path: string, { access, answerHeaders }: Route): keyof typeof TAGS {
  if (/^\/(health|metrics|docs)/.test(path)) return 'Operations';
  if ('Cache-Control' in answerHeaders) return 'Discovery';
  if (access === 'public') return 'Sign-in';
  return access === 'user' ? 'The caller' : 'For backends'; // a proxy is a backend
}

function securityOf({ access, headers }: Route): Json[] {
  if (access === 'public') return headers.includes('dpop') ? [{}, { proof: [] }] : [];
  if (access === 'user' || access === 'forwarded') return [{ accessToken: [] }];
  const { rights, orPerson, asPassword } = access;
  return rights.flatMap((right) => [
    { serviceKey: [right] },
    ...(asPassword ? [{ basic: [right] }] : []),
    ...(orPerson && right !== 'read' ? [{ accessToken: [right] }] : []),
  ]);
}

function bodyOf(id: string, { body }: Route, { models, schemas }: Context): Json {
  const examples = Object.entries(BODIES[id]!).map(([summary, value]) => [
    summary.replaceAll(/\W+/g, '-'),
    { summary, value },
  ]);
  const content = { schema: oneOf(body), examples: Object.fromEntries(examples) as Json };
  const isOAuth = body.every((name) => speaksOAuth(models.get(name)!));
  return {
    required: body.every((name) => schemas[name]!.required?.length),
    content: {
      'application/json': content,
      'application/x-www-form-urlencoded': isOAuth ? content : undefined,
    },
  };
}

function contentOf(id: string, { result, answerHeaders }: Route, { models }: Context): Json {
  if (CONTENTS[id]) return CONTENTS[id];
  const types = result.filter((name) => models.has(name));
  const json = { schema: types.length > 0 ? oneOf(types) : { type: 'object', additionalProperties: false } };
  if (!result.includes('string')) return { 'application/json': json };
  if (types.length > 0) return { 'application/json': json, ...PAGE };
  return { [answerHeaders['Content-Type']!.split(';')[0]!]: { schema: { type: 'string' } } };
}

function headersOf(status: number, { answerHeaders }: Route): Json | undefined {
  const names =
    status === 302 || status === 303
      ? ['Location']
      : Object.keys(answerHeaders).filter((name) => name in HEADERS);
  if (status === 304 || names.length === 0) return undefined;
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function errorsOf(
  { access, limited, errors, failures, showsErrors, body }: Route,
  responses: Record<string, Json>,
): Json {
  const codes = new Set<ErrorCode>([...EVERYWHERE, ...errors]);
  if (body.length > 0) for (const code of WITH_BODY) codes.add(code);
  const isOpen = access === 'public' || access === 'forwarded';
  if (limited || body.length > 0 || !isOpen) codes.add('slow_down');
  if (access !== 'public') codes.add('invalid_token');
  if (typeof access === 'object') codes.add('insufficient_scope');
  const answers: Json = {};
  for (const [status, ofStatus] of byStatus(codes)) {
    const name = `${ofStatus.join('.')}${showsErrors ? '.shown' : ''}`;
    responses[name] ??= errorResponse(ofStatus, showsErrors ? PAGE : {});
    answers[status] = { $ref: `#/components/responses/${name}` };
  }
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  const headers = { 'Retry-After': { $ref: '#/components/headers/Retry-After' } };
  for (const [status, description] of failures) answers[status] = { description, headers, content };
  return answers;
}

function oneOf(names: readonly string[]): Json {
  const refs = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
  return refs.length === 1 ? refs[0]! : { anyOf: refs };
}
