import { createClient } from '@latchkey/client';

/** The service that serves this page. */
export const latchkey = createClient({ url: location.origin, redirectUri: '/admin/callback', locale: 'en' });
