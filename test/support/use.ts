import { Endings } from './endings.js';
import { startTestService, type TestService } from './service.js';
import { StubProvider } from './stub-provider.js';

type Env = Record<string, string>;
type Start<Thing> = () => Thing | Promise<Thing>;

/** Everything that a `use` of this file has started and not yet ended. */
const started = new Endings();

/**
 * Starts a thing before the tests of the surrounding block, and ends it after them; what was started last ends first.
 * Hooks that need the thing at the end stand above its `use`.
 * @param end `close()` by default
 * @returns stands for the thing in tests and hooks, and in the `start` of later things
 */
export function use<Thing extends { close(): unknown }>(start: Start<Thing>): Thing;
export function use<Thing extends object>(start: Start<Thing>, end: (thing: Thing) => unknown): Thing;
export function use(start: Start<object>, end?: (thing: never) => unknown): object {
  return between(beforeAll, afterAll, start, end as typeof close);
}

/** Like `use`, before and after each test. */
export function useEach<Thing extends { close(): unknown }>(start: Start<Thing>): Thing;
export function useEach<Thing extends object>(start: Start<Thing>, end: (thing: Thing) => unknown): Thing;
export function useEach(start: Start<object>, end?: (thing: never) => unknown): object {
  return between(beforeEach, afterEach, start, end as typeof close);
}

/**
 * Starts a service and its provider `stub` for the tests of the surrounding block.
 * @param env further settings; a function if they name things that are started
 */
export function useService(env: Env | (() => Env) = {}): { provider: StubProvider; service: TestService } {
  const provider = use(() => StubProvider.start());
  const service = use(() => startTestService({ ...provider.env(), ...read(env) }));
  return { provider, service };
}

/** Like `useService`, with another instance on its database. */
export function useInstances(env: Env | (() => Env) = {}): {
  provider: StubProvider;
  here: TestService;
  there: TestService;
} {
  const { provider, service: here } = useService(env);
  return { provider, here, there: use(() => here.another()) };
}

/** Prepares something that needs no end, e.g. a user who has signed in, before the tests of the surrounding block. */
export function prepare<Thing extends object>(start: Start<Thing>): Thing {
  return use(start, () => undefined);
}

const read = (env: Env | (() => Env)): Env => (typeof env === 'function' ? env() : env);
const close = (thing: object): unknown => (thing as { close(): unknown }).close();

function between(before: jest.Lifecycle, after: jest.Lifecycle, start: Start<object>, end = close): object {
  let thing: object | undefined;
  let place = 0;
  before(async () => {
    place = started.count;
    thing = started.after(await start(), end);
  });
  // Jest runs these hooks in the order of their registration: the first ends everything that the block started.
  after(() => started.run(place));
  return standIn(() => {
    if (thing) return thing;
    throw new Error('A thing of `use` is used outside of a test or hook, or its start has failed');
  });
}

/** @returns an object that does what the other one does, which may come later */
function standIn(find: () => object): object {
  return new Proxy(
    {},
    {
      get(_, key) {
        const value: unknown = Reflect.get(find(), key);
        // A method of a class may read private members, which the proxy does not have.
        const isMethod = typeof value === 'function' && key !== 'constructor' && !Object.hasOwn(find(), key);
        return isMethod ? value.bind(find()) : value;
      },
      set: (_, key, value) => Reflect.set(find(), key, value),
      has: (_, key) => Reflect.has(find(), key),
      deleteProperty: (_, key) => Reflect.deleteProperty(find(), key),
      getPrototypeOf: () => Reflect.getPrototypeOf(find()),
      ownKeys: () => Reflect.ownKeys(find()),
      getOwnPropertyDescriptor(_, key) {
        const found = Reflect.getOwnPropertyDescriptor(find(), key);
        return found && { ...found, configurable: true };
      },
    },
  );
}
