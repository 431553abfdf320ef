/** Of people who have several devices; each number is one device, the same in each run. */
export function deviceIdOf(number: number): string {
  return `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;
}
