import { jest } from '@jest/globals';

// Browsers and drivers stall on a machine under load. Failures are printed even if a retry succeeds.
jest.retryTimes(0, { logErrorsBeforeRetry: true });
