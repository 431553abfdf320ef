import { makeBrand } from './brand.js';

const unset = { brandName: undefined, brandLogoFile: undefined, brandColor: undefined };

function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

it('costs nothing if it is not set', () => {
  expect(makeBrand(unset)).toBeUndefined();
});

it.each([
  '#000000',
  '#ffffff',
  '#ffd400',
  '#00ff00',
  '#0000ff',
  '#ff0000',
  '#808080',
  '#3a48d4',
  '#7fffd4',
  '#0b5fff',
])('text with and on %s can be read in light and dark', (brandColor) => {
  const { style } = makeBrand({ ...unset, brandColor })!;
  const names = /--accent: (#\w{6}); --accent-deep: (#\w{6}); --on-accent: (#\w{6}); --tint: (#\w{6});/g;
  const found = [...style.matchAll(names)].slice(-2);
  expect(style).toContain(found[0]![0]);
  const cards = ['#ffffff', '#171a20'];
  for (const [index, [, accent, deep, on, tint]] of found.entries()) {
    for (const [one, other] of [
      [accent, on],
      [deep, on],
      [accent, tint],
      [accent, cards[index]],
    ] as const)
      expect(contrast(one!, other!)).toBeGreaterThanOrEqual(4.5);
  }
});

it('keeps a colour that can be read', () => {
  expect(makeBrand({ ...unset, brandColor: '#0b3d91' })!.style).toContain('--accent: #0b3d91');
});
