import type { Request } from 'express';

/** The part of a route of Express that is used here. */
interface Route {
  readonly path: string;
  readonly methods: Readonly<Record<string, boolean>>;
}

/** The part of Express's router that tells which routes a path has. */
interface RouterLayer {
  readonly route?: Route;
  match(path: string): boolean;
}

/** Whether a request's path and method have a route. Asked for each request with a body, so it stops at the first match. */
export function isRouted(request: Request): boolean {
  return findRoute(request) !== undefined;
}

/** The template of the route that a request has (`/devices/:device_id`). Undefined where its path and method have none. */
export function routeOf(request: Request): string | undefined {
  // The router has set it, unless the request was answered before: its body was refused, or it is a preflight.
  return ((request.route as Route | undefined) ?? findRoute(request))?.path;
}

function findRoute(request: Request): Route | undefined {
  const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase(); // Express answers HEAD by GET's route
  return layersOf(request).find((layer) => layer.route?.methods[method] && matches(layer, request.path))
    ?.route;
}

/** The methods that the path of a request has, in upper case; none when there is nothing at this path. */
export function allowedMethods(request: Request): string[] {
  const allowed = new Set<string>();
  for (const layer of layersOf(request)) {
    if (!layer.route || !matches(layer, request.path)) continue;
    for (const method of Object.keys(layer.route.methods)) allowed.add(method.toUpperCase());
  }
  if (allowed.has('GET')) allowed.add('HEAD'); // Express answers it with GET's headers
  return [...allowed];
}

function layersOf(request: Request): readonly RouterLayer[] {
  return request.app.router.stack as unknown as readonly RouterLayer[];
}

function matches(layer: RouterLayer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false; // the path cannot be decoded (`%FF`)
  }
}
