/** The service key with which the load generator pushes. */
export const SERVICE_KEY = 'bench-service-key-of-32-characters';
