import { createHash } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Logo } from '../../config/settings/brand-settings.js';
import type { Settings } from '../../config/settings/settings.js';
import { style } from './style.js';

/** Path of the logo. */
export const LOGO_PATH = '/brand/logo';

/** What the operator has set for the look of the pages. */
export interface Brand {
  readonly name: string | undefined;
  readonly hasLogo: boolean;
  readonly style: string;
  /** For the policy. */
  readonly styleHash: string;
}

type Rgb = readonly [number, number, number];

/** WCAG 2.2, 1.4.3. */
const CONTRAST = 4.5;
const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];
/** `--card` and text on the colour in the dark style. */
const DARK: Rgb = [23, 26, 32];
const DARK_INK: Rgb = [15, 17, 21];

const LOGO_STYLE = `
.brand { overflow-wrap: anywhere; }
.logo { flex: none; display: block; height: 36px; max-width: 180px; object-fit: contain; object-position: left; }
`;

/** @returns undefined if nothing is set */
export function makeBrand({
  brandName,
  brandLogoFile,
  brandColor,
}: Pick<Settings, 'brandName' | 'brandLogoFile' | 'brandColor'>): Brand | undefined {
  if (brandName === undefined && !brandLogoFile && brandColor === undefined) return undefined;
  const own = style + LOGO_STYLE + (brandColor === undefined ? '' : colorStyle(brandColor));
  return { name: brandName, hasLogo: brandLogoFile !== undefined, style: own, styleHash: hashOf(own) };
}

const LOGO_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** Serves the logo, which runs and loads nothing, also if its address is opened as a page. */
export function serveLogo({ type, content }: Logo): RequestHandler {
  return ({ method, path }, response, next) => {
    if (!['GET', 'HEAD'].includes(method) || path !== '/') return next();
    response.setHeader('Content-Security-Policy', LOGO_POLICY);
    response.setHeader('Cache-Control', 'public, max-age=300');
    response.setHeader('Content-Type', type);
    response.send(content);
  };
}

export function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/** The colour, and its shades: darker ones on white, lighter ones in the dark style. */
function colorStyle(color: string): string {
  const rgb = parse(color);
  const tint = mix(WHITE, rgb, 0.08);
  const light = shadeUntil(rgb, BLACK, (shade) => contrast(shade, tint) >= CONTRAST);
  const darkTint = mix(DARK, rgb, 0.12);
  const readsDark = (shade: Rgb): boolean =>
    [DARK, DARK_INK, darkTint].every((other) => contrast(shade, other) >= CONTRAST);
  const dark = shadeUntil(rgb, WHITE, readsDark);
  return `
:root { ${variables(light, mix(light, BLACK, 0.2), WHITE, tint)} }
@media (prefers-color-scheme: dark) {
  :root { ${variables(dark, mix(dark, WHITE, 0.25), DARK_INK, darkTint)} }
}
`;
}

function variables(accent: Rgb, deep: Rgb, onAccent: Rgb, tint: Rgb): string {
  return [
    `--accent: ${show(accent)}`,
    `--accent-deep: ${show(deep)}`,
    `--on-accent: ${show(onAccent)}`,
    `--tint: ${show(tint)};`,
  ].join('; ');
}

/** Mixes a colour with another one, in steps, until it is readable. */
function shadeUntil(rgb: Rgb, other: Rgb, isReadable: (shade: Rgb) => boolean): Rgb {
  for (let part = 0; part < 1; part += 0.02) {
    const shade = mix(rgb, other, part);
    if (isReadable(shade)) return shade;
  }
  return other;
}

function mix(one: Rgb, other: Rgb, part: number): Rgb {
  const at = (index: 0 | 1 | 2): number => Math.round(one[index] * (1 - part) + other[index] * part);
  return [at(0), at(1), at(2)];
}

/** Contrast ratio of WCAG 2.2. */
function contrast(one: Rgb, other: Rgb): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function parse(color: string): Rgb {
  const at = (index: number): number => Number.parseInt(color.slice(index, index + 2), 16);
  return [at(1), at(3), at(5)];
}

function show(rgb: Rgb): string {
  return `#${rgb.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}
