/** What is secret whatever its value: an access token (a JWT), a refresh token, a private key. */
const SHAPES = [/eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{80,}/, /lkr_[\w-]{80,}/, /PRIVATE KEY/];
/** The variables whose values are secret, in every spelling. */
const SECRET_VARIABLES = /(?:client[._]secret|secret_key|service_keys)$/i;

/**
 * Judges what a service has logged, at its end (P5): so whatever a test does, its service may log no secret.
 * @param env the variables with which the service was started
 * @throws Error that does not show the secret
 */
export function expectNoSecret(log: string, env: Readonly<Record<string, string>>): void {
  const shown = SHAPES.filter((shape) => shape.test(log)).map(String);
  for (const [name, value] of Object.entries(env)) {
    if (SECRET_VARIABLES.test(name) && secretsIn(value).some((secret) => log.includes(secret)))
      shown.push(name);
  }
  if (shown.length > 0) throw new Error(`the log of a service has a secret: ${shown.join(', ')}`);
}

/** Of a list of service keys each one, without the right that it begins with; not what is too short to be told from other text. */
function secretsIn(value: string): string[] {
  const all = value.split(',').map((one) => one.replace(/^[a-z]+:/, ''));
  return all.filter(({ length }) => length >= 16);
}
