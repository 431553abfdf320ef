/** Under this name, a deletion of the feature finds the tests that need it. */
export * from '../support/agent.js';
