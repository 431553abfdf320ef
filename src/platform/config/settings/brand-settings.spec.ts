import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brandColor, brandLogo, brandName } from './brand-settings.js';

const NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
const svg = (inner: string, attributes = ''): string => `<svg ${NS} ${attributes}>${inner}</svg>`;

describe('a logo', () => {
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'brand-'))));
  afterAll(() => rmSync(folder, { recursive: true }));
  const parse = (content: string | Buffer): string => {
    const path = join(folder, 'logo');
    writeFileSync(path, content);
    return brandLogo.parse(path).type;
  };

  it.each([
    ['shapes', svg('<path d="M0 0h24v24H0z" fill="#123456"/>')],
    [
      'a declaration, a comment and a byte order mark',
      `\ufeff<?xml version="1.0" encoding="UTF-8"?><!-- Acme -->${svg('')}`,
    ],
    [
      'references to itself',
      svg('<g id="a"/><use href="#a"/><use xlink:href=\'#a\'/><path fill="url(#g)"/>'),
    ],
    ['a style', svg('<style>@media (prefers-color-scheme: dark) { path { fill: url("#g") } }</style>')],
  ])('is an SVG with %s', (_what, content) => {
    expect(parse(content)).toBe('image/svg+xml');
  });

  it('is a PNG by its content', () => {
    expect(parse(Buffer.from('\x89PNG\r\n\x1a\n<script>', 'latin1'))).toBe('image/png');
  });

  it.each([
    ['a DOCTYPE', `<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>${svg('&x;')}`],
    ['a DOCTYPE behind a comment', `<!-- x --><!doctype svg>${svg('')}`],
    ['a script', svg('<script>alert(1)</script>')],
    ['a long reference', svg('<set attributeName="&#x00000068;ref" to="#x"/>')],
    ['a CDATA section', svg('<style>@imp]]><![CDATA[ort "x";</style>')],
    ['a script with a prefix', svg('<s:script xmlns:s="http://www.w3.org/2000/svg"/>')],
    ['a listener', svg('<path d="M0 0" onload="alert(1)"/>')],
    ['a listener on another line', svg('', '\nonload\n= "alert(1)"')],
    ['foreignObject', svg('<foreignObject><b/></foreignObject>')],
    ['elements of HTML', svg('<h:img xmlns:h="http://www.w3.org/1999/xhtml"/>')],
    ['an image', svg('<image href="https://evil.example/x.png"/>')],
    ['an image of the service', svg('<image href="/me"/>')],
    ['an image inside', svg('<image href="data:image/png;base64,AA"/>')],
    ['an older image', svg('<image xlink:href = "//evil.example/x"/>')],
    ['a use of a file', svg("<use href='x.svg#a'/>")],
    ['an address without quotation marks', svg('<use href=x/>')],
    ['a link', svg('<a href="javascript:alert(1)"><path/></a>')],
    ['a fill of a file', svg('<path fill="url(x.svg#a)"/>')],
    ['a fill with quotation marks', svg(`<path fill="url( 'https://evil.example' )"/>`)],
    ['a fill with references', svg('<path style="fill:u&#114;l(&#x68;ttps://evil.example)"/>')],
    ['a stylesheet', svg('<style>@import "https://evil.example/x.css"</style>')],
    ['a style that hides its words', svg('<style>path { fill: u\\72l(https://evil.example) }</style>')],
    ['images of a style', svg('<style>svg { background: image-set("x.png" 1x) }</style>')],
    ['a stylesheet before it', `<?xml-stylesheet href="#x"?>${svg('')}`],
    ['an animated address', svg('<use href="#a"><set attributeName="href" to="x.svg"/></use>')],
    ['another base', svg('<use href="#a"/>', 'xml:base="https://evil.example/"')],
    ['another encoding', `<?xml version="1.0" encoding="UTF-7"?>${svg('')}`],
    ['UTF-16', Buffer.from(`\ufeff${svg('')}`, 'utf16le')],
    ['HTML', '<html><svg></svg></html>'],
    ['a JPEG', Buffer.from([0xff, 0xd8, 0xff, 0xe0])],
    ['nothing', ''],
    ['more than 64 KiB', svg(' '.repeat(65_536))],
  ])('is refused with %s', (_what, content) => {
    expect(() => parse(content)).toThrow('value refused');
  });

  it('is refused if there is no file', () => {
    expect(() => brandLogo.parse(join(folder, 'none'))).toThrow('value refused');
    expect(() => brandLogo.parse(folder)).toThrow('value refused');
  });
});

it.each(['#fff', 'red', '#12345g', '#1234567', '#12345678', ' #123456', '#123456;}'])(
  'the colour %j is refused',
  (text) => expect(() => brandColor.parse(text)).toThrow('value refused'),
);

it.each(['', ' ', 'x'.repeat(81), 'a\u202eb', 'a\nb'])('the name %j is refused', (text) =>
  expect(() => brandName.parse(text)).toThrow('value refused'),
);
