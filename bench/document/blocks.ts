/**
 * Replaces the text between the marks `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` of a document.
 * @param text put between them as a block of code
 * @throws Error where the document does not have the marks
 */
export function replaceBlock(document: string, name: string, text: string): string {
  const [begin, end] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the document has no place for ${name}`);
  return `${document.slice(0, from)}${begin}\n\n\`\`\`text\n${text}\n\`\`\`\n\n${document.slice(to)}`;
}
