import type { Request } from 'express';
import { match, type MatchFunction } from 'path-to-regexp';

/** Setting of the Express application (express.adapter.ts). */
const ROUTES = 'latchkey routes';

interface Route {
  /** Template, e.g. `/devices/:device_id`. */
  readonly path: string;
  /** In upper case. */
  readonly methods: Set<string>;
  readonly matches: MatchFunction<object>;
}

/** Routes of the application, as Nest registers them: Express offers no list. */
export class RouteTable {
  private readonly routes = new Map<string, Route>();

  /** @param path template; a trailing slash counts, as in Express's strict routing */
  add(method: string, path: string): void {
    const known = this.routes.get(path);
    if (known) known.methods.add(method);
    else {
      const matches = match(path, { sensitive: true, trailing: false, decode: false });
      this.routes.set(path, { path, methods: new Set([method]), matches });
    }
  }

  /** Makes the table available to `routeOf` and `allowedMethods`. */
  attachTo(app: { set(name: string, value: unknown): unknown }): void {
    app.set(ROUTES, this);
  }

  find(method: string, path: string): Route | undefined {
    const own = this.routes.get(path); // mostly: a path without parameters
    return own?.methods.has(method) ? own : this.at(path).find(({ methods }) => methods.has(method));
  }

  /** Routes with a path, in the order of their registration. */
  at(path: string): Route[] {
    return [...this.routes.values()].filter(({ matches }) => matches(path) !== false);
  }
}

/** Returns the template of a request's route; undefined if its path and method have none. */
export function routeOf(request: Request): string | undefined {
  // The router sets it, unless the request is answered before: a refused body, or a preflight.
  const routed = request.route as { readonly path: string } | undefined;
  if (routed) return routed.path;
  // Express answers HEAD by the route of GET
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  return tableOf(request).find(method, request.path)?.path;
}

/** Returns the methods of a request's path, in upper case; none if the path does not exist. */
export function allowedMethods(request: Request): string[] {
  const allowed = new Set(
    tableOf(request)
      .at(request.path)
      .flatMap(({ methods }) => [...methods]),
  );
  if (allowed.has('GET')) allowed.add('HEAD'); // as Express answers it
  return [...allowed];
}

function tableOf({ app }: Request): RouteTable {
  return app.get(ROUTES) as RouteTable;
}
