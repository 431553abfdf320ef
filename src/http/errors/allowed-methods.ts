import type { Request } from 'express';

interface Route {
  readonly path: string;
  readonly methods: Readonly<Record<string, boolean>>;
}

/** The parts of Express's router layer and route that are used here. */
interface RouterLayer {
  readonly route?: Route;
  match(path: string): boolean;
}

/** Returns the template of a request's route (`/devices/:device_id`); undefined if its path and method have none. */
export function routeOf(request: Request): string | undefined {
  // The router sets it, unless the request is answered before: a refused body, or a preflight.
  return ((request.route as Route | undefined) ?? findRoute(request))?.path;
}

function findRoute(request: Request): Route | undefined {
  const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase(); // Express answers HEAD by the route of GET
  return layersOf(request).find((layer) => layer.route?.methods[method] && matches(layer, request.path))
    ?.route;
}

/** Returns the methods of a request's path, in upper case; none if the path does not exist. */
export function allowedMethods(request: Request): string[] {
  const allowed = new Set<string>();
  for (const layer of layersOf(request)) {
    if (!layer.route || !matches(layer, request.path)) continue;
    for (const method of Object.keys(layer.route.methods)) allowed.add(method.toUpperCase());
  }
  if (allowed.has('GET')) allowed.add('HEAD'); // as Express answers it
  return [...allowed];
}

function layersOf(request: Request): readonly RouterLayer[] {
  return request.app.router.stack as unknown as readonly RouterLayer[];
}

function matches(layer: RouterLayer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false; // a path that cannot be decoded (`%FF`)
  }
}
