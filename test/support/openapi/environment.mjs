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
