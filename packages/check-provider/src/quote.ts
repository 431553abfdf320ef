const LONGEST = 80;

/** Text from outside, safe for a terminal: in quotes, short, printable ASCII only. */
export function quote(text: string): string {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
  return JSON.stringify(short).replace(/[^\x20-\x7e]/g, '?');
}
