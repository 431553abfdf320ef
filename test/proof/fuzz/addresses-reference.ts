/** A network of IPv6; one of IPv4 is below ::ffff:0:0/96 (RFC 4291 §2.5.5.2). */
export interface Network {
  readonly address: bigint;
  readonly prefix: number;
}

const MAPPED = 0xffffn << 32n;
const isMapped = (address: bigint): boolean => address >> 32n === 0xffffn;

/** An address of IPv4 (RFC 3986 §3.2.2) or IPv6 (RFC 4291 §2.2), without a zone; undefined for all else. Written from these alone. */
export function addressByTheBook(text: string): bigint | undefined {
  const dotted = ipv4(text);
  if (dotted !== undefined) return MAPPED | dotted;
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map(groups);
  const all = [...head, ...tail];
  const missing = 8 - all.length;
  if (all.includes(-1n) || (halves.length === 2 ? missing < 1 : missing !== 0)) return undefined;
  const whole = [...head, ...Array<bigint>(missing).fill(0n), ...tail];
  return whole.reduce((sum, group) => (sum << 16n) | group, 0n);
}

/** `<address>` or `<address>/<length>`, as Express takes them: not everybody's (a length of 0). */
export function networkByTheBook(text: string): Network | undefined {
  const [one = '', length, ...more] = text.split('/');
  const address = addressByTheBook(one);
  if (address === undefined || more.length > 0) return undefined;
  const longest = one.includes(':') ? 128 : 32;
  if (length === undefined) return { address, prefix: 128 };
  if (!/^\d+$/.test(length) || Number(length) < 1 || Number(length) > longest) return undefined;
  return { address, prefix: Number(length) + 128 - longest };
}

/** An address of IPv4 is in no network but those of IPv4. */
export function holds({ address, prefix }: Network, one: bigint): boolean {
  if (isMapped(one) && !isMapped(address)) return false;
  return (address ^ one) >> BigInt(128 - prefix) === 0n;
}

/** Whether it has addresses of both kinds, of which Express says no word. */
export function isMixed({ address, prefix }: Network): boolean {
  return isMapped(address) && prefix < 96;
}

/** As text: of IPv4 with dots, of IPv6 in full. */
export function written(address: bigint): string {
  if (isMapped(address)) return [24n, 16n, 8n, 0n].map((by) => (address >> by) & 0xffn).join('.');
  return Array.from({ length: 8 }, (_, i) => ((address >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(
    ':',
  );
}

function ipv4(text: string): bigint | undefined {
  const parts = text.split('.');
  const isAddress =
    parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
  return isAddress ? parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n) : undefined;
}

/** Of 16 bits each; -1 for what is none. An address of IPv4 may be the last two. */
function groups(text: string, half: number, halves: readonly string[]): bigint[] {
  if (text === '') return halves.length === 2 ? [] : [-1n];
  const parts = text.split(':');
  return parts.flatMap((part, i) => {
    const isLast = i === parts.length - 1 && half === halves.length - 1;
    const dotted = isLast ? ipv4(part) : undefined;
    if (dotted !== undefined) return [dotted >> 16n, dotted & 0xffffn];
    return /^[\da-f]{1,4}$/i.test(part) ? [BigInt(`0x${part}`)] : [-1n];
  });
}
