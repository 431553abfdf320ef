import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { compileScript, parse } from 'vue/compiler-sfc';
import { bearer } from '../../support/sign-in.js';
import { bundle, Pages } from '../bundle.js';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { storeSession } from '../../support/client-app.js';
import { use, useEach, useService } from '../../support/use.js';

/**
 * Returns the files in a document: code blocks that begin with a line such as `// src/app.tsx` or `<!-- src/App.vue -->`.
 * @param path from the root of the repository
 * @returns their contents, by the names without `src/`
 */
function filesIn(path: string): Record<string, string> {
  const text = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const blocks = text.matchAll(/^```\w+\n((?:\/\/|<!--) src\/(\S+).*\n[^]*?)^```$/gm);
  return Object.fromEntries([...blocks].map(([, code, name]) => [name!, code!]));
}

/** Compiles a component in one file (`<script setup>` and `<template>`) to a module, as Vite's plugin does. */
function compileVue(name: string, source: string): string {
  const { descriptor, errors } = parse(source, { filename: name });
  if (errors.length > 0) throw errors[0]!;
  return compileScript(descriptor, { id: name, inlineTemplate: true }).content;
}

const KEY = 'k'.repeat(32);

/** As Vite's plugin sets them. */
const VUE = {
  __VUE_OPTIONS_API__: 'true',
  __VUE_PROD_DEVTOOLS__: 'false',
  __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
};

/** The code of a guide at its end, as its reader would copy it; `main` comes first. */
async function bundleGuide(
  guide: string,
  main: string,
  service: string,
): Promise<ReadonlyMap<string, string>> {
  const { [main]: first, ...others } = filesIn(`docs/guides/${guide}.md`);
  const files = Object.entries({ [main]: first!, ...others }).map(([name, code]) => {
    const text = code.replace("'http://localhost:3000'", `'${service}'`).replace("'#app'", "'#root'");
    return name.endsWith('.vue') ? [`${name}.ts`, compileVue(name, text)] : [name, text];
  });
  return bundle(Object.fromEntries(files) as Record<string, string>, { define: VUE });
}

inChromium('the code of the guides', () => {
  let page: Page;
  let complaints: string[];

  const { service } = useService({ SERVICE_KEYS: KEY });
  const pages = use(() => Pages.start());
  const browser = use(() => launchChromium());
  const context = useEach(() => browser.newContext());
  beforeEach(async () => {
    context.setDefaultTimeout(60_000);
    page = await context.newPage();
    complaints = [];
    page.on('pageerror', ({ message }) => complaints.push(message));
    page.on('console', (line) => {
      if (['error', 'warning'].includes(line.type())) complaints.push(line.text());
    });
  });

  it.each([
    ['react', 'main.tsx'],
    ['vue', 'main.ts'],
  ])('docs/guides/%s.md signs in, calls an API, and follows events and users', async (guide, main) => {
    const script = await bundleGuide(guide, main, service.url);
    for (const path of ['/', '/callback']) pages.put(path, script);
    pages.at.set('/api/orders', '[{"item":"Tea"}]');
    const orders = (): Promise<string[]> => page.locator('li').allTextContents();

    await page.goto(pages.url);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const form = page.frameLocator('iframe');
    await form.getByLabel('User name').fill('ada');
    await form.getByLabel('Password').fill('analytical-engine');
    await form.getByLabel('Password').press('Enter');
    await page.getByText('Ada Lovelace').waitFor();
    await page.getByText('Live').waitFor();
    await page.getByText('Tea').waitFor();

    // The API refuses: the page stays, and shows what it had.
    const refusal = '{"error":"temporarily_unavailable","error_description":"x"}';
    const isRefused = /503|The API answered with/;
    await page.route('**/api/orders', (route) => route.fulfill({ status: 503, body: refusal }));
    const reported = page.waitForEvent('console', (line) =>
      line.text().includes('The API answered with 503'),
    );
    await page.reload();
    await reported;
    await page.getByText('Live').waitFor();
    expect(complaints.filter((line) => !isRefused.test(line))).toEqual([]);
    await page.unroute('**/api/orders');
    await page.goto('about:blank'); // the old page retries, and its request may have failed again
    complaints = [];
    await page.goto(pages.url);
    await page.getByText('Tea').waitFor();

    // Another user signs in, in another tab.
    const other = await context.newPage();
    await other.goto(`${pages.url}/other`);
    const grace = await storeSession(other, service.url, 'grace');
    await page.getByText('Ada Lovelace').waitFor({ state: 'detached' });
    await page.getByText('Live').waitFor();
    const order = { user_id: grace, event: 'order.placed' };
    for (const item of ['Coffee', 'Cocoa'])
      await bearer(service.url, KEY)
        .post('/push', { ...order, data: { item } })
        .expect(202);
    await page.getByText('Cocoa').waitFor();
    expect(await orders()).toEqual(['Tea', 'Coffee', 'Cocoa']);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(complaints).toEqual([]);
  });
});
