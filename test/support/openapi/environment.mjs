import 'reflect-metadata';
import { TestEnvironment } from 'jest-environment-node';
import { faultOf } from './contract.mjs';

/**
 * Node.js, with `answered(…)` for what a service has answered: if that is not what docs/openapi.json says, the test that runs at
 * that moment fails.
 */
export default class CheckingEnvironment extends TestEnvironment {
  faults = [];

  async setup() {
    await super.setup();
    joinRealms(this.global);
    this.global.faultOf = faultOf;
    this.global.answered = (answer) => {
      const fault = faultOf(answer);
      if (fault !== undefined) this.faults.push(fault);
    };
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
 * Makes the shared packages (runtime.cjs), which are of this realm, work with the realm of a spec file: one store of
 * metadata, and errors of both realms are instances of the classes that the spec file's realm has.
 */
function joinRealms(global) {
  global.Reflect = Reflect;
  const isInstance = Function.prototype[Symbol.hasInstance];
  for (const Class of [Error, RangeError, SyntaxError, TypeError]) {
    const own = global[Class.name];
    Object.defineProperty(own, Symbol.hasInstance, {
      value(object) {
        return isInstance.call(this, object) || (this === own && isInstance.call(Class, object));
      },
    });
  }
}
