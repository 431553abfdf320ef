import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import Ajv from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import 'reflect-metadata';
import { TestEnvironment } from 'jest-environment-node';

/**
 * Node.js, with `answered(…)` for what a service has answered: if that is not what docs/openapi.json says, the test that runs at
 * that moment fails.
 */
export default class CheckingEnvironment extends TestEnvironment {
  faults = [];

  async setup() {
    await super.setup();
    joinRealms(this.global);
    this.global.answered = (answer) => {
      const fault = faultOf(answer);
      if (fault !== undefined) this.faults.push(fault);
    };
  }

  async teardown() {
    for (const storage of used) storage.disable();
    used.clear();
    await super.teardown();
  }

  handleTestEvent(event, state) {
    if (this.faults.length === 0) return;
    if (event.name === 'test_done') event.test.errors.push(this.takeFaults());
    if (event.name === 'run_finish') state.unhandledErrors.push(this.takeFaults());
  }

  takeFaults() {
    const lines = this.faults.splice(0);
    return new Error(`Not as docs/openapi.json says:\n${[...new Set(lines)].join('\n')}`);
  }
}

/**
 * Storages that ran. Jest makes one for each spec file and never disables it.
 * Node 20: each slows down every promise of all later files of the worker.
 */
const used = new Set();
// oxlint-disable-next-line typescript/unbound-method -- called with the storage below
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...parameters) {
  used.add(this);
  return run.apply(this, parameters);
};

/**
 * Makes the shared packages and sources (runtime.cjs), which are of this realm, work with the realm of a spec file: one store of
 * metadata, one environment, and `instanceof Date` or `Error` holds for objects of either realm.
 */
function joinRealms(global) {
  global.Reflect = Reflect;
  global.process.env = process.env;
  const isInstance = Function.prototype[Symbol.hasInstance];
  for (const Class of [Date, Error, RangeError, SyntaxError, TypeError]) {
    const own = global[Class.name];
    Object.defineProperty(own, Symbol.hasInstance, {
      value(object) {
        return isInstance.call(this, object) || (this === own && isInstance.call(Class, object));
      },
    });
  }
}

/** @typedef {{ method: string, url: string, status: number, headers: Record<string, unknown>, body: string | undefined }} Answered */

const document = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));

const ajv = new Ajv.default({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema(document, 'document');

/** Outside the interface: pages and their files, the sample provider, sockets; SCIM and signals, which providers call. */
const EXEMPT =
  /^\/(?:$|callback$|admin(?:\/?$|\/(?:users|audit|callback)\b|\/[\w-]+\.\w+$)|brand\/logo$|docs\/(?!openapi\.json$)|demo\/|latchkey-client\/|providers\/mock\/|device(?:$|\/callback$|\/confirm$)|agents\/(?:authorize|callback|consent)$|providers\/[\w-]+\/(?:signals|global-token-revocation)$|scim\/|socket\.io\/)/;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Paths that are written out go before those with parameters. */
const paths = Object.keys(document.paths)
  .toSorted((one, other) => Number(one.includes('{')) - Number(other.includes('{')))
  .map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));

/**
 * @param {Answered} answered `body` is undefined for an event stream
 * @returns {string | undefined} what differs from the document, in a line
 */
function faultOf(answered) {
  const { method, url, status } = answered;
  const [path] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?'); // a target may be a whole URL (RFC 9112 §3.2.2)
  if (EXEMPT.test(path)) return undefined;
  const fault = judge(answered, path);
  return fault && `${method} ${path} answered ${status}: ${fault}`;
}

function judge(answered, path) {
  const { method, status, body } = answered;
  const key = method === 'HEAD' ? 'get' : method.toLowerCase();
  const there = paths.filter(({ pattern }) => pattern.test(path));
  const found = there.find((one) => document.paths[one.path][key]) ?? there[0];
  if (method === 'OPTIONS' && status === 204) return undefined;
  if (status === 404 && !found && body?.startsWith('<!doctype html>')) return undefined; // for browsers
  if (status === 404 && (!found || body?.includes('there is nothing at this path') || method === 'HEAD')) {
    return compare(answered, '/components/responses/not_found');
  }
  if (status === 405) return compare(answered, '/components/responses/method_not_allowed');
  if (!found) return 'docs/openapi.json does not have the path';
  if (!METHODS.includes(key))
    return isError(answered) ? undefined : 'an answer to a method that is not there';
  const operation = document.paths[found.path][key];
  if (!operation) {
    const isUnreadable = status === 400 && !isDecodable(path); // which is seen before the method is
    return isUnreadable && isError(answered) ? undefined : 'docs/openapi.json does not have the method';
  }
  const response = operation.responses[status];
  if (!response) return `docs/openapi.json does not have the status${body ? ` (${body.slice(0, 200)})` : ''}`;
  const at = response.$ref?.slice(1) ?? `/paths/${escape(found.path)}/${key}/responses/${status}`;
  return compare(answered, at);
}

function isDecodable(path) {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function isError({ status, body }) {
  return status >= 400 && status < 500 && (body ?? '').startsWith('{"error":');
}

/** @param {string} at a JSON pointer to the response's description */
function compare({ method, status, headers, body }, at) {
  const { content, headers: declared = {} } = lookUp(at);
  for (const [name, header] of Object.entries(declared)) {
    if (header.required && headers[name.toLowerCase()] === undefined) return `it has no ${name}`;
  }
  if (method === 'HEAD' || status === 304) return undefined;
  if (!content) return body ? `it has a body: ${body.slice(0, 200)}` : undefined;
  const [mediaType] = String(headers['content-type']).split(';');
  if (!content[mediaType]) return `its type is ${headers['content-type']}`;
  if (mediaType !== 'application/json' || body === undefined) return undefined;
  const validate = ajv.getSchema(`document#${at}/content/${escape(mediaType)}/schema`);
  let value;
  try {
    value = JSON.parse(body);
  } catch {
    return `it is not JSON: ${body.slice(0, 200)}`;
  }
  return validate(value) ? undefined : `${ajv.errorsText(validate.errors)} in ${withoutTokens(body)}`;
}

/** Failures end up in logs. */
function withoutTokens(body) {
  return body.replace(/"(access_token|refresh_token)":"[^"]*"/g, '"$1":"…"').slice(0, 400);
}

function lookUp(pointer) {
  return pointer
    .split('/')
    .slice(1)
    .reduce((value, part) => value[part.replaceAll('~1', '/')], document);
}

function escape(part) {
  return part.replaceAll('/', '~1');
}
