import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { provider } from './demo-visitor.js';

/** Signs in at the administration page by one click at the sample provider. */
export async function signInAs(page: Page, url: string, name: 'Ada' | 'Grace' | 'Linus'): Promise<void> {
  await page.goto(url);
  await page.getByRole('button', { name: 'Sample provider' }).click();
  await provider(page).getByRole('button', { name }).click();
  await page.getByRole('button', { name: 'Sample provider' }).waitFor({ state: 'detached' });
}

/** Navigates by the links of the header, and waits for the view. */
export async function goTo(page: Page, view: 'Overview' | 'Users' | 'Audit' | 'Providers'): Promise<void> {
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }).click();
  await page.getByRole('heading', { name: view, level: 1 }).waitFor();
}

/** Expects that axe-core finds nothing in light and in dark, and that nothing is wider than 360 px. */
export async function expectAccessible(page: Page, view: string): Promise<void> {
  const size = page.viewportSize()!;
  await page.evaluate(axe.source);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate<axe.AxeResults>(
      `axe.run(document, { iframes: false, resultTypes: ['violations'] })`,
    );
    expect(found.passes.length).toBeGreaterThan(10);
    const faults = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
    expect([view, colorScheme, faults]).toEqual([view, colorScheme, []]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 360, height: 740 });
  expect([view, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([view, 360]);
  await page.setViewportSize(size);
}

/** Writes pictures of the page in both colour schemes and two widths into the folder of `SHOTS`, if that is set. */
export async function takePictures(page: Page, name: string): Promise<void> {
  const shots = process.env['SHOTS'];
  for (const colorScheme of shots ? (['light', 'dark'] as const) : []) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1200, 360]) {
      await page.setViewportSize({ width, height: 800 });
      await page.screenshot({ path: `${shots}/${name}-${colorScheme}-${width}.png`, fullPage: true });
    }
  }
}
