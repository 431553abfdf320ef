import type { INestApplication, Type } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA, HEADERS_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import { ClientErrorFilter } from '../src/auth/clients/client-error.filter.js';
import { RateLimit } from '../src/platform/http/rate-limit.js';
import { ACCESS, type Access } from '../src/platform/http/access.js';
import type { Source } from './sources.js';

export interface Route extends Source {
  readonly access: Access;
  readonly limited: boolean;
  /** Whether errors are pages if `Accept` prefers HTML. */
  readonly showsErrors: boolean;
  /** Headers of the answer, by `@Header`. */
  readonly answerHeaders: Readonly<Record<string, string>>;
}

/** @returns what decorators and sources say of routes, by class and method: `MeController_me` */
export function routesOf(
  app: INestApplication,
  sources: ReadonlyMap<string, Source>,
): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const module of app.get(ModulesContainer).values()) {
    for (const { metatype } of module.controllers.values()) {
      const controller = metatype as Type;
      const methods = Object.getOwnPropertyDescriptors(controller.prototype as object);
      for (const [name, { value: handler }] of Object.entries(methods)) {
        const source = sources.get(`${controller.name}_${name}`);
        if (!source || !Reflect.hasMetadata(PATH_METADATA, handler)) continue;
        const of = (key: string): unknown =>
          Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller);
        const headers = (of(HEADERS_METADATA) ?? []) as { name: string; value: string }[];
        routes.set(`${controller.name}_${name}`, {
          ...source,
          access: (of(ACCESS) ?? 'user') as Access,
          limited: of(RateLimit.KEY) !== undefined,
          showsErrors: ((of(EXCEPTION_FILTERS_METADATA) ?? []) as unknown[]).some(
            (filter) => filter instanceof ClientErrorFilter,
          ),
          answerHeaders: Object.fromEntries(headers.map((header) => [header.name, header.value])),
        });
      }
    }
  }
  return routes;
}
