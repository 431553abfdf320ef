const LONGEST = 80;

/** Text of a stranger as a terminal can safely show it: in quotes, short, printable ASCII only. */
export function quote(text: string): string {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
  return JSON.stringify(short).replace(/[^\x20-\x7e]/g, '?');
}
