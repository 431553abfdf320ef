/** Added to the style of the devices. No comments inside: the text is shipped. */
export const STYLE = `
section{margin-top:1.5rem}
h3{margin:0;font-size:1rem}
h3+p{font-size:.875rem;opacity:.8}
`;
