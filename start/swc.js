/**
 * How a source becomes JavaScript when nobody waits for its types to be checked: one file at a time, for `npm start` as for
 * the tests (jest.config.js), so that what is started is what was tested.
 *
 * @type {import('@swc/core').Options}
 */
export const swc = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
  },
  module: { type: 'es6' },
};
