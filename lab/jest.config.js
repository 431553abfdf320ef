import base from '../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '..',
  roots: ['<rootDir>/lab'],
  testPathIgnorePatterns: ['/node_modules/'],
  reporters: ['default'],
  testTimeout: 86_400_000, // long runs take as long as `--minutes` says
  maxWorkers: 1,
};
