import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import CheckingEnvironment from '../../test/support/openapi/environment.mjs';

/** Skips the rest of a spec file after its first failure, which it writes to the file `failure`. */
export default class FirstFailureEnvironment extends CheckingEnvironment {
  constructor(config, context) {
    super(config, context);
    this.spec = relative('', context.testPath);
  }

  handleTestEvent(event, state) {
    super.handleTestEvent(event, state);
    if (event.name === 'test_start' && this.hasFailed) event.test.mode = 'skip';
    if (event.name !== 'test_done' || event.test.errors.length === 0 || this.hasFailed) return;
    this.hasFailed = true;
    writeFileSync('failure', `${this.spec}\n${event.test.name}`);
  }
}
