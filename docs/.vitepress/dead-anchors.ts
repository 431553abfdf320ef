import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

const attributes = (html: string, name: string): string[] =>
  [...html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, 'g'))].map(([, value]) => value!);

/** Links between the built pages whose page or `#fragment` does not exist. VitePress itself looks at pages only. */
export function deadAnchors(outDir: string, base: string): string[] {
  const all = readdirSync(outDir, { recursive: true, encoding: 'utf8' });
  const files = all.filter((file) => file.endsWith('.html')).map((file) => file.replaceAll(sep, '/'));
  const pages = new Map(files.map((file) => [file, readFileSync(join(outDir, file), 'utf8')]));
  const ids = new Map([...pages].map(([file, html]) => [file, new Set(attributes(html, 'id'))]));
  const dead = [...pages].flatMap(([file, html]) =>
    attributes(html, 'href').flatMap((href) => {
      if (/^[a-z]+:|^\/\/|\.(css|js|woff2?|png|svg|ico)$/i.test(href)) return [];
      const [path = '', hash = ''] = href.replaceAll('&amp;', '&').split('#');
      const own = path === '' ? file : '';
      const absolute = path.startsWith(base)
        ? path.slice(base.length)
        : posix.join(posix.dirname(file), path);
      const target = own || absolute.replace(/(^|\/)$/, '$1index.html');
      const there = ids.get(target)?.has(decodeURIComponent(hash)) ?? false;
      return there || (hash === '' && ids.has(target)) ? [] : [`${file}: ${href}`];
    }),
  );
  return [...new Set(dead)];
}
