import type { INestApplication, Type } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { ErrorCode } from '../src/errors/oauth-error.js';
import { speaksOAuth } from '../src/http/parameters/parameter.js';
import { byStatus, ERROR_SCHEMA, errorResponse } from './errors.js';
import { DESCRIPTION, SECURITY_SCHEMES, TITLE } from './introduction.js';
import { ANSWER_HEADERS } from './headers.js';
import { parametersOf } from './parameters.js';
import { TAGS, type Answer, type Json, type Operation, type Operations } from './operation.js';
import { routesOf, type Route } from './routes.js';
import { completeSchema } from './schemas.js';

/** An operation as `@nestjs/swagger` makes it. */
interface Scanned {
  operationId: string;
  requestBody?: { content: Record<string, { schema: Json }> };
}

const PAGE = { 'text/html': { schema: { type: 'string' } } };

/** A body is read wherever it is sent, and a fault of our own may be anywhere. */
const EVERYWHERE = ['invalid_request', 'payload_too_large', 'server_error'] as const;

/** Made by `npm run docs:api`; PUBLIC_URL takes its place where the document is served. */
const SERVER = 'http://localhost:3000';

/**
 * The OpenAPI document: routes, parameters and schemas as `@nestjs/swagger` finds them, completed from the rules of
 * parameters, the guards of routes and the table of operations.
 *
 * @param app of which nothing needs to run
 * @param models classes of bodies and answers, by their names
 * @throws Error for a route that the table does not have, and the reverse
 */
export function makeDocument(
  app: INestApplication,
  models: ReadonlyMap<string, Type>,
  operations: Operations,
  version: string,
): Json {
  const config = new DocumentBuilder().setOpenAPIVersion('3.1.1').setTitle(TITLE).setVersion(version).build();
  const scanned = SwaggerModule.createDocument(app, config, {
    extraModels: [...models.values()] as never[],
    operationIdFactory: (controller, method) => `${controller}_${method}`,
  });
  const routes = routesOf(app);
  const responses: Record<string, Json> = {
    not_found: errorResponse(['not_found']),
    method_not_allowed: errorResponse(['method_not_allowed']),
  };
  const left = new Set(Object.keys(operations));
  const paths: Record<string, Record<string, Json>> = {};
  for (const [found, item] of Object.entries(scanned.paths)) {
    const path = found.replace(/^\/providers\/name\//, '/providers/{name}/'); // one of them stands for all
    for (const [method, operation] of Object.entries(item) as [string, unknown][]) {
      const key = `${method.toUpperCase()} ${path}`;
      const told = operations[key];
      if (!told) throw new Error(`openapi/operations has no ${key}`);
      left.delete(key);
      const scan = operation as Scanned;
      paths[path] ??= {};
      paths[path][method] = completeOperation(scan, told, routes.get(scan.operationId)!, {
        path,
        models,
        responses,
        schemas: (scanned.components?.schemas ?? {}) as Record<string, Json>,
      });
    }
  }
  if (left.size > 0)
    throw new Error(`openapi/operations has routes that are not there: ${[...left].join(', ')}`);
  const inOrder = Object.keys(operations).map((key) => key.split(' ')[1]!);
  const schemas = Object.entries(scanned.components?.schemas ?? {})
    .filter(
      ([name]) => JSON.stringify(paths).includes(`"#/components/schemas/${name}"`) || isMember(name, scanned),
    )
    .map(([name, schema]) => [name, completeSchema(schema as Json, models.get(name))] as const);
  return {
    openapi: '3.1.1',
    info: { title: TITLE, version, description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: SERVER, description: 'This service.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries([...new Set(inOrder)].map((path) => [path, paths[path]])),
    components: {
      schemas: Object.fromEntries([
        ...schemas.toSorted(([one], [other]) => (one < other ? -1 : 1)),
        ['Error', ERROR_SCHEMA],
      ]),
      responses,
      headers: ANSWER_HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** Whether another schema refers to it. */
function isMember(name: string, { components }: { components?: { schemas?: object } }): boolean {
  return JSON.stringify(components?.schemas).includes(`"#/components/schemas/${name}"`);
}

interface Context {
  readonly path: string;
  readonly models: ReadonlyMap<string, Type>;
  readonly responses: Record<string, Json>;
  /** As `@nestjs/swagger` made them. */
  readonly schemas: Readonly<Record<string, Json>>;
}

function completeOperation(scan: Scanned, told: Operation, route: Route, context: Context): Json {
  const body = bodyOf(scan, told, context.models);
  const parameters = parametersOf(told, route, context);
  return {
    operationId: told.id,
    tags: [told.tag],
    summary: told.summary,
    ...(told.description !== undefined && { description: told.description }),
    security: securityOf(told, route),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: {
      ...Object.fromEntries(
        Object.entries(told.answers).map(([status, answer]) => [status, answerOf(answer)]),
      ),
      ...errorsOf(told, route, context.responses),
    },
  };
}

function securityOf({ security }: Operation, { access }: Route): Json[] {
  if (access === 'public') return [...(security ?? [])];
  return [
    { [access === 'user' ? 'accessToken' : 'serviceKey']: access === 'user' ? [] : [access] },
    ...(security ?? []),
  ];
}

function bodyOf(scan: Scanned, told: Operation, models: ReadonlyMap<string, Type>): Json | undefined {
  const scanned = Object.values(scan.requestBody?.content ?? {})[0]?.schema['$ref'] as string | undefined;
  const types = told.bodyTypes ?? (scanned ? [models.get(scanned.split('/').at(-1)!)!] : []);
  if (types.length === 0) return undefined;
  const schema = oneOf(types);
  const examples = examplesOf(told.bodies);
  const content = { schema, ...(examples && { examples }) };
  const isOAuth = types.every((type) => speaksOAuth(type));
  const required =
    !Object.values(told.bodies ?? {}).some((body) => Object.keys(body as object).length === 0) &&
    told.id !== 'signOut';
  return {
    required,
    content: {
      'application/json': content,
      ...(isOAuth && { 'application/x-www-form-urlencoded': content }),
    },
  };
}

function answerOf({ description, types, schema, mediaType, orPage, headers, examples }: Answer): Json {
  const body = types ? oneOf(types) : schema;
  return {
    description,
    ...(headers && {
      headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    }),
    ...(body && {
      content: {
        [mediaType ?? 'application/json']: {
          schema: body,
          ...(examples && { examples: examplesOf(examples) }),
        },
        ...(orPage && PAGE),
      },
    }),
  };
}

function errorsOf(told: Operation, { access, limited }: Route, responses: Record<string, Json>): Json {
  const codes = new Set<ErrorCode>([...EVERYWHERE, ...(told.errors ?? [])]);
  if (limited) codes.add('slow_down');
  if (access !== 'public') for (const code of ['invalid_token', 'slow_down'] as const) codes.add(code);
  if (access !== 'public' && access !== 'user') codes.add('insufficient_scope');
  const answers: Json = {};
  for (const [status, ofStatus] of byStatus(codes)) {
    const name = ofStatus.join('.');
    responses[name] ??= errorResponse(ofStatus);
    const shown = `${name}.shown`;
    if (told.showsErrors) {
      const { content, ...rest } = responses[name];
      responses[shown] ??= { ...rest, content: { ...(content as Json), ...PAGE } };
    }
    answers[status] = { $ref: `#/components/responses/${told.showsErrors ? shown : name}` };
  }
  return answers;
}

function oneOf(types: readonly Type[]): Json {
  const refs = types.map(({ name }) => ({ $ref: `#/components/schemas/${name}` }));
  return refs.length === 1 ? refs[0]! : { anyOf: refs };
}

function examplesOf(values: Readonly<Record<string, unknown>> | undefined): Json | undefined {
  if (!values) return undefined;
  return Object.fromEntries(
    Object.entries(values).map(([summary, value]) => [summary.replaceAll(/\W+/g, '-'), { summary, value }]),
  );
}
