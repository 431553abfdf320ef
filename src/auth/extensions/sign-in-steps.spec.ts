import 'reflect-metadata';
import { Injectable, Module, type Type } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import type { Origin } from '../../audit/audit-event.js';
import { Clock } from '../../platform/database/clock.js';
import type { Identity } from '../../provider/identity/identity.js';
import { SignInRefusals } from '../sign-in/sign-in-refusals.js';
import { SignInStep, SignInSteps, type SignedIn } from './sign-in-steps.js';

let ran: string[];
beforeEach(() => (ran = []));

function step(name: string, stages: Parameters<typeof SignInStep>[0], methods: readonly string[]): Type {
  const type = { [name]: class {} }[name]!;
  for (const method of methods) {
    Object.defineProperty(type.prototype, method, { value: () => void ran.push(`${name}.${method}`) });
  }
  Injectable()(type);
  SignInStep(stages)(type);
  return type;
}

async function stepsOf(providers: readonly Type[]): Promise<SignInSteps> {
  const refusals = { watch: (_known: unknown, work: () => unknown) => work() };
  class Feature {}
  Module({ providers: [...providers] })(Feature);
  class Core {}
  Module({
    imports: [DiscoveryModule, Feature],
    providers: [
      SignInSteps,
      { provide: SignInRefusals, useValue: refusals },
      { provide: Clock, useValue: { now: () => 0 } },
    ],
  })(Core);
  const app = await NestFactory.createApplicationContext(Core, { logger: false, abortOnError: false });
  return app.get(SignInSteps);
}

const identity = { providerUserId: 'ada', sessionExpiry: null } as Identity;
const verified = { provider: 'corp', identity, requestedAt: 0 };
const checked = { provider: 'corp', identity, userId: 'u' };

it('runs the steps of each stage by the names of their classes, however the modules are ordered', async () => {
  const steps = await stepsOf([
    step('Ask', { check: 'ask', after: 'keep' }, ['check', 'checkAgain', 'after']),
    step('SecondRule', { check: 'rules' }, ['check', 'checkAgain']),
    step('Limit', { after: 'limit' }, ['after']),
    step('FirstRule', { check: 'rules', after: 'judge' }, ['check', 'after']),
    step('Facts', { check: 'facts', after: 'judge' }, ['check', 'checkAgain', 'after']),
  ]);
  await steps.check(verified, {} as Origin);
  expect(ran.splice(0)).toEqual(['Facts.check', 'FirstRule.check', 'SecondRule.check', 'Ask.check']);
  await steps.checkAgain(checked);
  expect(ran.splice(0)).toEqual(['Facts.checkAgain', 'SecondRule.checkAgain', 'Ask.checkAgain']);
  await steps.preview(checked);
  expect(ran.splice(0)).toEqual(['Facts.checkAgain']);
  await steps.after({} as SignedIn);
  expect(ran).toEqual(['Ask.after', 'Facts.after', 'FirstRule.after', 'Limit.after']);
});

it.each([
  ['check', { after: 'keep' }],
  ['checkAgain', {}],
  ['after', { check: 'rules' }],
] as const)('stops the start if a step has %s without its stage', async (method, stages) => {
  await expect(stepsOf([step('Forgetful', stages, [method])])).rejects.toThrow(
    'Forgetful: each method of a SignInStep needs its stage',
  );
});
