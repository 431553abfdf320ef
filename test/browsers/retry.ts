import { jest } from '@jest/globals';

// Browsers and their drivers stall by chance on a machine under load. A failure that a retry mends is printed all the same.
jest.retryTimes(2, { logErrorsBeforeRetry: true });
