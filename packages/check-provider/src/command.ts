import { setTimeout as sleep } from 'node:timers/promises';
import {
  parseArguments,
  parseNamed,
  WrongArguments,
  type NamedOptions,
  type Options,
  type SignInOptions,
} from './arguments.js';
import { call } from './call.js';
import { CannotRun } from './cannot-run.js';
import { collect, plannedSignIns } from './collect.js';
import { exchange, isMissing } from './exchange.js';
import { errorOf, isAnswer, membersOf } from './reply.js';
import { evaluate, jsonFailure, jsonReport, tableReport } from './report.js';
import { LoopbackPerson } from './sign-in/loopback-person.js';
import { PastingPerson } from './sign-in/pasting-person.js';
import type { Person } from './sign-in/person.js';

export { CannotRun } from './cannot-run.js';
export { land } from './sign-in/landing.js';
export type { NamedOptions, Options, Person, SignInOptions };

/** Checks that the service adds: they need its settings and adapters. @returns the exit code */
export interface ServiceChecks {
  /** Checks a configured provider. */
  named(options: NamedOptions): Promise<number>;
  /** Checks an issuer of OpenID Connect. */
  issuer(options: Options): Promise<number>;
}

/**
 * Runs the command: checks the provider and prints the report, or the reason why there is none.
 *
 * @param name by which the command was called, for its usage
 * @param argv the arguments after the name
 * @returns the exit code. 0: all rules hold; 1: a rule fails; 2: could not run
 */
export async function runCommand(
  name: string,
  argv: readonly string[],
  service?: ServiceChecks,
): Promise<number> {
  try {
    const named = service && parseNamed(argv);
    if (named) return await service.named(named);
    const options = parseArguments(argv);
    if (options === 'help') {
      process.stdout.write(`${usage(name, service !== undefined)}\n`);
      return 0;
    }
    if (!(await isIssuer(options.providerUrl))) return await checkProvider(options);
    if (service) return await service.issuer(options);
    throw new CannotRun(
      'this is an issuer of OpenID Connect: the command `latchkey check-provider` of the service checks it',
    );
  } catch (error) {
    const message = describe(error);
    const help = error instanceof WrongArguments ? `\n\n${usage(name, service !== undefined)}` : '';
    process.stderr.write(`check-provider: ${message}${help}\n`);
    if (argv.includes('--json')) process.stdout.write(`${jsonFailure(message)}\n`);
    return 2;
  }
}

/** Whether a URL has a discovery document (OpenID Connect Discovery §4), and no exchange endpoint of the contract. */
async function isIssuer(url: string): Promise<boolean> {
  const headers = { Accept: 'application/json' };
  const document = await call(`${url}/.well-known/openid-configuration`, { headers });
  if (!isAnswer(document) || typeof membersOf(document)?.['issuer'] !== 'string') return false;
  const form = { client_id: undefined, client_secret: undefined, code: undefined, redirect_uri: undefined };
  const reply = await exchange(url, form);
  return !isAnswer(reply) || errorOf(reply) === undefined || isMissing(reply);
}

/** Returns the person who signs in. @param planned how many sign-ins there will be */
export async function personFor(
  { redirectUri, wait }: SignInOptions,
  planned: number,
  say: (line: string) => void,
): Promise<Person> {
  return redirectUri === undefined
    ? LoopbackPerson.listen(planned, wait, say)
    : new PastingPerson(redirectUri, planned, wait, say);
}

/**
 * Checks a provider and prints the report.
 * @returns the exit code: 0 all rules hold, 1 a rule fails
 * @throws CannotRun without a report
 */
async function checkProvider(options: Options): Promise<number> {
  const { json, clientSecret } = options;
  const talk = json ? process.stderr : process.stdout; // with --json, standard output is the report alone
  const say = (line: string): void => void talk.write(`${line}\n`);
  const person = await personFor(options, plannedSignIns(options), say);
  try {
    const evidence = await collect(options, person, sleep);
    const report = evaluate(evidence, [clientSecret, ...evidence.codes]);
    const { stdout } = process;
    // hasColors() looks at NO_COLOR, TERM and the like.
    stdout.write(`${json ? jsonReport(report) : tableReport(report, stdout.isTTY && stdout.hasColors())}\n`);
    return report.ok ? 0 : 1;
  } finally {
    await person.leave();
  }
}

/** Any other error than `CannotRun` is a fault of this command. */
function describe(error: unknown): string {
  return error instanceof CannotRun ? error.message : `${(error as Error).stack}`;
}

/** @param name by which the command was called @param isService whether it also checks configured providers */
function usage(name: string, isService: boolean): string {
  const named = isService ? `\n       ${name} <name> [options]` : '';
  const more = isService
    ? `
<name>: a provider in the settings of the service, of any adapter: its settings, the redirect URIs to register, one sign-in, the
identity and the claims received. An issuer of OpenID Connect, by its URL, is checked in the same way.
`
    : '';
  return `Usage: ${name} <url> --client-id X --client-secret Y [options]${named}

Checks an identity provider against the provider contract (spec 4.5, 7.3).
${more}
  --redirect-uri U  a callback that the provider has registered; you paste the address your browser ends at.
                    Without it: http://127.0.0.1:<any port>/callback, where this command listens
  --json            the report as JSON on standard output
  --slow            also wait until a code must have expired (10 minutes)
  --wait S          seconds to wait for each sign-in (600)

Exit code 0: all rules hold. 1: a rule fails. 2: could not run.`;
}
