import type { INestApplication, Type } from '@nestjs/common';
import { PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { ModulesContainer, Reflector } from '@nestjs/core';
import { RATE_LIMIT } from '../src/http/rate-limit.js';
import { ACCESS, type Access } from '../src/token/guard/access.js';

/** What the code of a route tells. */
export interface Route {
  readonly access: Access;
  readonly limited: boolean;
  /** The class of its query parameters. */
  readonly query: Type | undefined;
  /** The names of headers that it reads. */
  readonly headers: readonly string[];
}

/** By operation ids as `@nestjs/swagger` makes them: `MeController_me`. */
export function routesOf(app: INestApplication): ReadonlyMap<string, Route> {
  const reflector = app.get(Reflector);
  const routes = new Map<string, Route>();
  for (const module of app.get(ModulesContainer).values()) {
    for (const { metatype } of module.controllers.values()) {
      const controller = metatype as Type;
      const members = Object.getOwnPropertyDescriptors(controller.prototype as object);
      for (const [name, { value: handler }] of Object.entries(members)) {
        if (typeof handler !== 'function' || !Reflect.hasMetadata(PATH_METADATA, handler)) continue;
        routes.set(`${controller.name}_${name}`, {
          access: reflector.getAllAndOverride<Access | undefined>(ACCESS, [handler, controller]) ?? 'user',
          limited: Reflect.hasMetadata(RATE_LIMIT, handler),
          ...argumentsOf(controller, name),
        });
      }
    }
  }
  return routes;
}

function argumentsOf(controller: Type, method: string): Pick<Route, 'query' | 'headers'> {
  const metadata: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method);
  const all = Object.entries((metadata ?? {}) as Record<string, { index: number; data?: string }>);
  const types = Reflect.getMetadata('design:paramtypes', controller.prototype as object, method) as Type[];
  const of = (kind: RouteParamtypes) =>
    all.filter(([key]) => key.startsWith(`${kind}:`)).map(([, argument]) => argument);
  const [query] = of(RouteParamtypes.QUERY);
  return {
    query: query && types[query.index],
    headers: of(RouteParamtypes.HEADERS).flatMap(({ data }) => data ?? []),
  };
}
