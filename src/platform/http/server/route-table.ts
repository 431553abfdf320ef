import type { Request } from 'express';
import { match, type MatchFunction } from 'path-to-regexp';

interface Route {
  /** Template, e.g. `/devices/:device_id`; a trailing slash counts, as in Express's strict routing. */
  readonly path: string;
  /** In upper case. */
  readonly methods: Set<string>;
  readonly matches: MatchFunction<object>;
}

/** By application: its routes by path, in the order of their registration. */
const tables = new WeakMap<Request['app'], ReadonlyMap<string, Route>>();

/** Returns the template of a request's route; undefined if its path and method have none. */
export function routeOf(request: Request): string | undefined {
  // The router sets it, unless the request is answered before: a refused body, or a preflight.
  const routed = request.route as { readonly path: string } | undefined;
  if (routed) return routed.path;
  // Express answers HEAD by the route of GET
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  return routesAt(request).find(({ methods }) => methods.has(method))?.path;
}

/** Returns the methods of a request's path, in upper case; none if the path does not exist. */
export function allowedMethods(request: Request): string[] {
  const allowed = new Set(routesAt(request).flatMap(({ methods }) => [...methods]));
  if (allowed.has('GET')) allowed.add('HEAD'); // as Express answers it
  return [...allowed];
}

function routesAt({ app, path }: Request): Route[] {
  const table = tables.get(app) ?? readRoutes(app);
  return [...table.values()].filter(({ matches }) => matches(path) !== false);
}

/** Reads the routes of an application at its first request, when Nest has registered all of them. */
function readRoutes(app: Request['app']): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const { route } of app.router.stack) {
    if (!route) continue; // a middleware
    const { path, methods } = route as unknown as { path: string; methods: Record<string, true> };
    if (path.includes('*')) continue; // it answers paths that do not exist
    const matches = match(path, { sensitive: true, trailing: false, decode: false });
    const known = routes.get(path) ?? { path, methods: new Set(), matches };
    for (const method of Object.keys(methods)) known.methods.add(method.toUpperCase());
    routes.set(path, known);
  }
  tables.set(app, routes);
  return routes;
}
