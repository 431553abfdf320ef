/** What all targets call themselves, so that one proof is for each of them. */
export const ISSUER = 'http://localhost:3000';
